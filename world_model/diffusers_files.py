"""Networks in the layout of diffusers, from a folder or hub id, or one clear error."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from world_model.errors import DataError


def where(source: Path | str, subfolder: str | None) -> str:
    """A folder or hub id with its subfolder, as errors name it."""
    return f"{source}{f'/{subfolder}' if subfolder else ''}"


@contextmanager
def reading(what: str, source: Path | str, subfolder: str | None) -> Iterator[None]:
    """Turn what diffusers raises for absent, unreachable or damaged files into `DataError`.

    A path that cannot be a hub id (``owner/name``) is not asked of the hub.
    """
    if (Path(source).is_absolute() or str(source).startswith(".")) and not Path(source).exists():
        raise DataError(
            f"there is no {what} to read at {where(source, subfolder)}, for it does not exist; check the path"
        )
    try:
        yield
    except DataError:
        raise
    except (OSError, ValueError, RuntimeError, KeyError) as error:
        reason = textwrap.shorten(str(error), 120, placeholder=" ...")
        raise DataError(
            f"there is no {what} to read at {where(source, subfolder)} ({reason}); give a folder with config.json and "
            "diffusion_pytorch_model.safetensors, or download one where there is a network"
        ) from error


def read_network(kind: Any, what: str, source: Path | str, subfolder: str | None, **options: Any) -> Any:
    """``kind.from_pretrained`` of safetensors, every weight of it: diffusers alone fills missing ones at random.

    Raises:
        DataError: there is none, it cannot be fetched or read, or misses weights.
    """
    with reading(what, source, subfolder):
        net, report = kind.from_pretrained(
            str(source), subfolder=subfolder, use_safetensors=True, output_loading_info=True, **options
        )
    wrong = [*report["missing_keys"], *report["unexpected_keys"], *report["mismatched_keys"]]
    if wrong:
        raise DataError(
            f"{where(source, subfolder)} lacks or adds {wrong[0]!r} and {len(wrong) - 1} more; copy the weights again"
        )
    return net
