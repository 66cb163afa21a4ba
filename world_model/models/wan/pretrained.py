"""Published weights: read in the layout of diffusers, and the action expert's made of the video expert's."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from world_model.checkpoint import load_state
from world_model.diffusers_files import read_network
from world_model.errors import DataError
from world_model.extras import require
from world_model.models.wan.config import PUBLISHED
from world_model.models.wan.model import WanVideo

WAN = "Wan-AI/Wan2.2-TI2V-5B-Diffusers"
"""Whose folders ``transformer`` and ``vae`` SimForcing begins with."""


def read_transformer(source: Path | str, subfolder: str | None = "transformer") -> Any:
    """diffusers' ``WanTransformer3DModel`` from a folder or hub id, on the CPU, as it was saved.

    Raises:
        DataError: there is none, it cannot be fetched or read, or misses weights.
        MissingExtraError: diffusers is not installed.
    """
    kind = require("diffusers", "diffusers").WanTransformer3DModel
    return read_network(kind, "Wan transformer", source, subfolder)


def begin_with(model: WanVideo, net: Any, source: Path | str) -> None:
    """Copy a transformer's weights into the video expert, and interpolated ones into the action expert.

    The action expert's reading of actions stays random, as published.

    Raises:
        DataError: it is of another size.
    """
    for name, wanted in model.config.whole.items():
        found = net.config.get(name, PUBLISHED[name])
        if (tuple(found) if isinstance(found, (list, tuple)) else found) != (
            tuple(wanted) if isinstance(wanted, (list, tuple)) else wanted
        ):
            raise DataError(
                f"{source} has {name} {found!r} but the model {wanted!r}; set the model's settings to these"
            )
    weights = net.state_dict()
    load_state(model.video.net, weights, source)
    if model.action is not None:
        own = model.action.state_dict()
        model.action.load_state_dict(own | interpolated(weights, own))


def interpolated(video: Mapping[str, Tensor], action: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Weights for every key of the action expert that the video expert has too (specification 3.1).

    Each axis of another length is interpolated linearly, ends on ends; matrices whose inputs have become fewer are
    multiplied by the root of how many fewer, which keeps the variance of their outputs.
    """
    made = {}
    for name in action.keys() & video.keys():
        value, shape = video[name].float(), action[name].shape
        grow = (value.shape[-1] / shape[-1]) ** 0.5 if value.ndim > 1 and value.shape[-1] != shape[-1] else 1.0
        for axis, size in enumerate(shape):
            if value.shape[axis] != size:
                moved = value.movedim(axis, -1)
                line = F.interpolate(moved.reshape(1, -1, moved.shape[-1]), size, mode="linear", align_corners=True)
                value = line.reshape(*moved.shape[:-1], size).movedim(-1, axis)
        made[name] = torch.mul(value, grow).to(action[name].dtype)
    return made
