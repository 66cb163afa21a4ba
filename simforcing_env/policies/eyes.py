"""What a diffusion policy sees: numbers made of a frame and proprio, the same way in every environment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from simforcing_env.evaluation.pose_reader import PoseReader, load_reader
from simforcing_env.policies.scene_eyes import SceneEyes, SceneEyesConfig
from world_model.models.layers import ResBlock
from world_model.rules import Several, Whole, settle
from world_model.training.recipes_pusht import PUSHT_STATE


@dataclass(frozen=True)
class PointConfig:
    """Key points of Push-T's block, read by the packaged pose reader: the state that `pusht-nano` carries."""

    proprio_dim: int = 2


class PointEyes(nn.Module):
    """Proprio, then x and y of the block's three ends, all in [-1, 1]; nothing is trained."""

    reads_points = True
    frozen = True

    def __init__(self, config: PointConfig) -> None:
        super().__init__()
        self.config = config
        self.state_dim = PUSHT_STATE.dim
        self.dim = config.proprio_dim + self.state_dim

    @cached_property
    def _reader(self) -> list[PoseReader]:
        return [load_reader()]  # in a list, so that its weights are no part of this module's

    def forward(self, frames: Tensor, proprio: Tensor, tasks: Tensor | None = None) -> Tensor:
        """``frames`` ``(B, H, W, 3)`` uint8 and ``proprio`` ``(B, P)`` in [-1, 1] to ``(B, dim)``; one task alone."""
        poses = self._reader[0].read(frames.cpu().numpy())
        state = np.concatenate([poses.block, poses.angle[:, None]], axis=1)
        return torch.cat([proprio, torch.from_numpy(PUSHT_STATE.encode(state)).to(proprio)], dim=1)

    def of_state(self, proprio: Tensor, state: Tensor, tasks: Tensor | None = None) -> Tensor:
        """The same of proprio ``(B, P)`` and a model's state ``(B, S)``."""
        return torch.cat([proprio, state], dim=1)

    def points_of(self, states: NDArray[np.floating], names: Any) -> NDArray[np.float32]:
        """Recorded states ``(T, columns)`` as they are read from pictures."""
        return points_of(states)


@dataclass(frozen=True)
class PixelConfig:
    """A convolutional net that is trained with the policy."""

    proprio_dim: int = 2
    patch: int = 4
    width: int = 48
    dilations: tuple[int, ...] = (1, 2)
    squeeze: int = 8
    grid: tuple[int, int] = (16, 16)
    """Rows and columns of patches."""
    features: int = 64

    def __post_init__(self) -> None:
        size = Whole(1, 4096)
        settle(self, {**dict.fromkeys(("proprio_dim", "patch", "width", "squeeze", "features"), size)})
        settle(self, {"dilations": Several(size), "grid": Several(size, 2)})


class PixelEyes(nn.Module):
    """Proprio, then features of the picture."""

    reads_points = False
    frozen = False

    def __init__(self, config: PixelConfig) -> None:
        super().__init__()
        self.config = config
        self.dim = config.proprio_dim + config.features
        self.stem = nn.Conv2d(3 * config.patch**2, config.width, 3, padding=1)
        self.blocks = nn.Sequential(*(ResBlock(config.width, d) for d in config.dilations))
        self.squeeze = nn.Conv2d(config.width, config.squeeze, 1)
        self.readout = nn.Linear(config.squeeze * config.grid[0] * config.grid[1], config.features)

    def forward(self, frames: Tensor, proprio: Tensor, tasks: Tensor | None = None) -> Tensor:
        """As of `PointEyes`."""
        pixels = (frames.float() / 127.5 - 1).movedim(-1, 1)
        x = self.blocks(self.stem(F.pixel_unshuffle(pixels, self.config.patch)))
        seen = torch.tanh(self.readout(F.silu(self.squeeze(F.silu(x))).flatten(1)))
        return torch.cat([proprio, seen], dim=1)


EYES: Mapping[str, tuple[type[Any], type[Any]]] = MappingProxyType(
    {
        "points": (PointConfig, PointEyes),
        "pixels": (PixelConfig, PixelEyes),
        "scene": (SceneEyesConfig, SceneEyes),
    }
)


def points_of(states: NDArray[np.floating]) -> NDArray[np.float32]:
    """Recorded states ``(T, 3 or more)``, x, y in px and angle of the block first, as `PointEyes` sees them."""
    return PUSHT_STATE.encode(states)
