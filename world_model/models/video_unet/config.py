"""Sizes of the U-Net."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from world_model.errors import InputError
from world_model.models.video_diffusion import VideoConfig
from world_model.rules import Several, Whole, settle


@dataclass(frozen=True)
class VideoUNetConfig(VideoConfig):
    """The defaults are the published LVDM."""

    dim: int = 288
    """Channels at full resolution."""
    mults: tuple[int, ...] = (1, 2, 4, 8)
    """Channels of each level, the next one of half the resolution, as multiples of ``dim``."""
    heads: int = 8
    head_dim: int = 32
    condition_dim: int = 768
    """Of the embedding of the trajectory, which stands beside that of the time."""
    groups: int = 8
    """Of the group norms."""

    def __post_init__(self) -> None:
        super().__post_init__()
        size = Whole(1, 65_536)
        settle(self, {"dim": size, "heads": size, "head_dim": size, "condition_dim": size, "groups": size})
        settle(self, {"mults": Several(size)})
        if self.dim % self.groups or self.dim < 4 or self.head_dim % 2:
            raise InputError(
                f"dim is {self.dim} with {self.groups} groups and head_dim is {self.head_dim}; dim must be a multiple "
                "of the groups and at least 4, head_dim even"
            )


def vdm(**fields: Any) -> VideoUNetConfig:
    """The published pixel model, with other fields changed; its codec is ``space_to_depth`` with patch 1."""
    return VideoUNetConfig(**{"dim": 64, "latent_channels": 3, **fields})


def lvdm(**fields: Any) -> VideoUNetConfig:
    """The published latent model, with other fields changed."""
    return VideoUNetConfig(**fields)
