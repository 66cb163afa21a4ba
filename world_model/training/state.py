"""What a killed run goes on from: weights, moving average, optimiser, step and seconds, in one file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel

from world_model.atomic import replacing_file
from world_model.errors import DataError


def average_of(model: nn.Module, decay: float) -> AveragedModel:
    """Exponential moving average whose decay grows with the number of updates, so that it starts fast."""

    @torch.no_grad()
    def update(averages: Any, currents: Any, count: Any) -> None:
        now = min(decay, (1 + float(count)) / (10 + float(count)))
        torch._foreach_lerp_(averages, currents, 1 - now)

    return AveragedModel(model, multi_avg_fn=update, use_buffers=False)


def save_state(path: Path, **parts: Any) -> None:
    """Write state dicts and numbers to ``path``; a kill at any moment leaves the old file or the new one."""
    with replacing_file(path) as temporary:
        torch.save(parts, temporary)


def load_state(path: Path) -> dict[str, Any]:
    """Read `save_state`'s file without unpickling objects.

    Raises:
        DataError: the file cannot be read.
    """
    try:
        state: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        raise DataError(
            f"training state {path} is not readable ({type(error).__name__}); delete it to start again"
        ) from error
    return state
