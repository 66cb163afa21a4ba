"""The parts of a learned simulator in a checkpoint folder: writing them, and reading them strictly."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn

from world_model import registry
from world_model.checkpoint import (
    CARD,
    Folder,
    load_state,
    open_folder,
    stored_state,
    write_json,
    write_tensors,
)
from world_model.codecs import CodecModule, read_codec, write_codec
from world_model.contract import Contract
from world_model.errors import ContractError, DataError, InputError
from world_model.pretrained.starts import Starts
from world_model.rollout import HISTORY
from world_model.rules import Is, Rule, follow_all, refuse_unknown

Weights = Literal["model", "ema"]
STARTS = "starts.safetensors"
SIM_STARTS = "sim_starts.safetensors"
OBJECT = Is((dict,), "an object")
FIELDS: Mapping[str, Rule] = {"model": OBJECT, "sampler": OBJECT, "history": HISTORY, "recipe": OBJECT}
"""Of ``config.json``."""


def write_model(folder: Path, model: nn.Module, dtype: torch.dtype | None, ema: Mapping[str, Tensor] | None) -> None:
    """Write ``model.safetensors`` and, for training checkpoints, ``ema.safetensors`` (a state dict of the model)."""
    write_tensors(folder / "model.safetensors", stored_state(model, dtype))
    if ema is not None:
        write_tensors(folder / "ema.safetensors", ema)


def write_parts(
    folder: Path,
    config: Mapping[str, Any],
    contract: Contract,
    codec: CodecModule,
    heads: nn.Module | None,
    starts: Mapping[str, Starts | None],
    card: str,
) -> None:
    """Write everything but the model's weights; ``starts`` by their file's name."""
    write_json(folder / "config.json", config)
    (folder / "contract.json").write_text(contract.to_json() + "\n", encoding="utf-8")
    (folder / CARD).write_text(card, encoding="utf-8")
    write_codec(codec, folder / "codec")
    if heads is not None:
        from world_model.heads import HEADS

        write_json(folder / "heads/config.json", registry.to_dict(HEADS, heads))
        write_tensors(folder / "heads/model.safetensors", heads.state_dict())
    for name, some in starts.items():
        if some is not None:
            some.save(folder / name)


def model_config(model: nn.Module, sampler: Any, history: int, recipe: Mapping[str, Any]) -> dict[str, Any]:
    """The object of ``config.json``."""
    from world_model.diffusion import SAMPLERS
    from world_model.models import MODELS

    return {
        "model": registry.to_dict(MODELS, model),
        "sampler": registry.to_dict(SAMPLERS, sampler),
        "history": history,
        "recipe": dict(recipe),
    }


def read_parts(path: Path, weights: Weights, expected: Contract | None) -> dict[str, Any]:
    """Open a folder and build its parts on the CPU, as keyword arguments of `LearnedSimulator`.

    Raises:
        DataError: damaged, incomplete, of an unknown kind, or with weights of another network.
        ContractError: made for another contract than ``expected``.
    """
    folder = open_folder(path)
    config = folder.json("config.json")
    try:
        refuse_unknown(config, FIELDS, "field")
        config = follow_all(FIELDS, config)
    except InputError as error:
        raise DataError(f"{folder.path / 'config.json'}: {error}") from error
    contract = _contract(folder)
    if expected is not None:
        expected.require_same(contract, "this environment", f"checkpoint {folder.path}")
    card = folder.path / CARD
    return {
        "model": _model(folder, config["model"], weights),
        "codec": read_codec(folder, "codec/"),
        "contract": contract,
        "sampler": _sampler(folder, config["sampler"]),
        "history": config["history"],
        "heads": _heads(folder),
        "starts": _starts(folder, STARTS, contract),
        "sim_starts": _starts(folder, SIM_STARTS, contract),
        "recipe": config["recipe"],
        "card": card.read_text(encoding="utf-8") if card.is_file() else "",
        "hash": folder.hash,
    }


def _starts(folder: Folder, name: str, contract: Contract) -> Starts | None:
    if name not in folder:
        return None
    starts = Starts.load(folder.file(name))
    starts.check(contract, str(folder.path / name))
    return starts


def _contract(folder: Folder) -> Contract:
    path = folder.file("contract.json")
    try:
        return Contract.from_json(path.read_text(encoding="utf-8"))
    except (ContractError, UnicodeDecodeError) as error:
        raise DataError(f"{path} does not hold a contract ({error}); copy the checkpoint again") from error


def _model(folder: Folder, values: Mapping[str, Any], weights: Weights) -> nn.Module:
    from world_model.models import MODELS

    model: nn.Module = registry.build(MODELS, values, str(folder.path / "config.json"))
    name = f"{weights}.safetensors"
    load_state(model, folder.tensors(name), folder.path / name)
    return model


def _sampler(folder: Folder, values: Mapping[str, Any]) -> Any:
    from world_model.diffusion import SAMPLERS

    return registry.build(SAMPLERS, values, str(folder.path / "config.json"))


def _heads(folder: Folder) -> nn.Module | None:
    if "heads/config.json" not in folder:
        return None
    from world_model.heads import HEADS

    path = folder.path / "heads/model.safetensors"
    heads: nn.Module = registry.build(HEADS, folder.json("heads/config.json"), str(path.parent / "config.json"))
    load_state(heads, folder.tensors("heads/model.safetensors"), path)
    return heads
