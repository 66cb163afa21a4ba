"""The published ``{model, ema, opt, args}`` file: the averaged weights and the plain values of its arguments.

``args`` is a pickled OmegaConf object. Its classes are named to the reader of torch, which refuses all others, but are
stood in for by one that only keeps what it is given, so that no code of the file's choice runs.
"""

from __future__ import annotations

import pickle
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from world_model.errors import DataError

_HARMLESS = re.compile(
    r"omegaconf\.(dictconfig\.DictConfig|listconfig\.ListConfig|base\.(Metadata|ContainerMetadata)|nodes\.\w+Node)"
    r"|argparse\.Namespace|collections\.defaultdict|typing\.\w+|builtins\.(dict|list|tuple|set|int|float|str|bool|bytes)"
)
"""What options are made of."""


@dataclass(frozen=True)
class Released:
    """What a checkpoint holds that is of use here."""

    weights: dict[str, Tensor]
    """The moving average, on the CPU; the plain weights where there is none."""
    arguments: dict[str, Any]
    """Plain values; empty where none are stored."""
    averaged: bool = True
    """Whether the file says that its weights are the moving average."""


class _Kept:
    """Stands for any object of the options: keeps what it was made of and does nothing."""

    def __new__(cls, *parts: Any, **more: Any) -> _Kept:
        kept = super().__new__(cls)
        kept.state = {}
        return kept

    def __init__(self, *parts: Any, **more: Any) -> None:
        self.state: dict[str, Any]

    def __setstate__(self, state: Any) -> None:
        self.state = state if isinstance(state, dict) else {}


def read_released(path: Path) -> Released:
    """Read a checkpoint of the published training code.

    Raises:
        DataError: it cannot be read, wants code to be run, or holds no state dict of tensors.
    """
    try:
        wanted = torch.serialization.get_unsafe_globals_in_checkpoint(path)
        foreign = sorted(name for name in wanted if not _HARMLESS.fullmatch(name))
        if foreign:
            raise DataError(
                f"{path} wants to run {foreign[0]}, which no weights need; use the file as it was published, "
                "or save its 'ema' alone where you trust it: torch.save({'ema': torch.load(path)['ema']}, new)"
            )
        with torch.serialization.safe_globals([(_Kept, name) for name in wanted]):  # type: ignore[list-item]
            stored = torch.load(path, map_location="cpu", weights_only=True, mmap=True)
    except (OSError, RuntimeError, ValueError, EOFError, pickle.UnpicklingError) as error:
        if isinstance(error, DataError):
            raise
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise DataError(f"{path} is not readable as a checkpoint ({reason[:120]}); fetch the file again") from error
    if not isinstance(stored, Mapping):
        raise DataError(f"{path} holds a {type(stored).__name__}, not a checkpoint; give the published .pt file")
    weights = next((stored[name] for name in ("ema", "model") if name in stored), stored)
    if not isinstance(weights, Mapping) or not weights or not all(isinstance(v, Tensor) for v in weights.values()):
        raise DataError(f"{path} holds no state dict under 'ema' or 'model'; give the published .pt file")
    return Released(dict(weights), _options(stored.get("args")) if "args" in stored else {}, "ema" in stored)


def _options(value: Any) -> dict[str, Any]:
    plain = _plain(value)
    return plain if isinstance(plain, dict) else {}


def _plain(value: Any) -> Any:
    """Nested dicts, lists and scalars of OmegaConf's containers and nodes, or of a namespace."""
    if isinstance(value, _Kept):
        inner = next((value.state[name] for name in ("_content", "_val") if name in value.state), value.state)
        return _plain(inner)
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items() if not str(key).startswith("_")}
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value
