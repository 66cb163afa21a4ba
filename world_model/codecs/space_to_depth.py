"""Lossless codec: every pixel of a p x p patch becomes a channel, shifted and scaled."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from world_model.codecs.base import CodecModule
from world_model.codecs.frames import check_frames, check_latents, from_patches, statistics, to_patches


@dataclass(frozen=True)
class SpaceToDepthConfig:
    """Shape of the codec; statistics are buffers, filled by `fit_space_to_depth` or a checkpoint."""

    patch: int = 4
    """Pixels per latent cell and side; gives ``patch * patch * 3`` channels."""


class SpaceToDepth(CodecModule):
    """Rearranged pixels; frames come back exactly after rounding. See `interface.Codec`."""

    mean: Tensor  # (C,) pixels in [0, 1]
    scale: Tensor  # (C,)

    def __init__(self, config: SpaceToDepthConfig) -> None:
        super().__init__()
        self.config = config
        self.latent_channels = config.patch**2 * 3
        self.downsample = config.patch
        self.register_buffer("mean", torch.full((self.latent_channels,), 0.5))
        self.register_buffer("scale", torch.full((self.latent_channels,), 0.5))

    def encode(self, frames: Tensor) -> Tensor:
        """``(..., H, W, 3)`` uint8 to ``(..., C, U, V)`` float32."""
        check_frames(frames, self.downsample)
        patches = to_patches(frames, self.config.patch).float() / 255
        return ((patches - self.mean) / self.scale).movedim(-1, -3)

    def decode(self, latents: Tensor) -> Tensor:
        """``(..., C, U, V)`` to ``(..., H, W, 3)`` float32 in [0, 1] (not clipped, not rounded)."""
        check_latents(latents, self.latent_channels)
        return from_patches(latents.float().movedim(-3, -1) * self.scale + self.mean, self.config.patch)


def fit_space_to_depth(frames: Tensor, config: SpaceToDepthConfig, floor: float = 0.1) -> SpaceToDepth:
    """Fit mean and scale on ``(N, H, W, 3)`` uint8 frames; ``floor`` as in `frames.statistics`."""
    check_frames(frames, config.patch)
    codec = SpaceToDepth(config)
    mean, scale = statistics(to_patches(frames, config.patch).reshape(-1, codec.latent_channels) / 255, floor)
    codec.mean.copy_(mean)
    codec.scale.copy_(scale)
    return codec
