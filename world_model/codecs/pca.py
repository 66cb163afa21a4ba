"""Linear codec: the leading principal components of p x p pixel patches."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from world_model.codecs.base import CodecModule
from world_model.codecs.frames import (
    check_frames,
    check_latents,
    fold_views,
    from_patches,
    to_patches,
    unfold_views,
)
from world_model.errors import InputError

_BATCH = 256  # frames at once while the covariance is summed


@dataclass(frozen=True)
class PcaConfig:
    """Shape of the codec; the basis itself is a buffer, filled by `fit_pca` or a checkpoint."""

    patch: int = 4
    """Pixels per latent cell and side."""
    channels: int = 24
    """Components kept, at most ``patch * patch * 3``."""
    views: int = 1
    """Pictures of one size side by side in a canvas; their components become channels of one grid."""


class PcaCodec(CodecModule):
    """Encode with one matrix of orthonormal columns, decode with its transpose; see `interface.Codec`."""

    basis: Tensor  # (patch * patch * 3, C) orthonormal columns, pixels in [0, 1]
    mean: Tensor  # (patch * patch * 3,)
    scale: Tensor  # (C,) what a latent of 1 means along its component

    def __init__(self, config: PcaConfig) -> None:
        super().__init__()
        size = config.patch**2 * 3
        if not 0 < config.channels <= size:
            raise InputError(f"pca codec has channels {config.channels}; patches of {config.patch} give 1 to {size}")
        self.config = config
        self.latent_channels = config.views * config.channels
        self.downsample = config.patch
        self.register_buffer("basis", torch.eye(size, config.channels))
        self.register_buffer("mean", torch.zeros(size))
        self.register_buffer("scale", torch.ones(config.channels))

    def encode(self, frames: Tensor) -> Tensor:
        """``(..., H, W, 3)`` uint8 to ``(..., C, U, V)`` float32."""
        check_frames(frames, self.downsample)
        patches = to_patches(fold_views(frames, self.config.views), self.config.patch).float()
        weight = self.basis / self.scale
        return (patches @ (weight / 255) - self.mean @ weight).movedim(-1, -3).flatten(-4, -3)

    def decode(self, latents: Tensor) -> Tensor:
        """``(..., C, U, V)`` to ``(..., H, W, 3)`` float32 in [0, 1] (not clipped, not rounded)."""
        check_latents(latents, self.latent_channels)
        weight = (self.basis * self.scale).mT
        views = latents.float().reshape(*latents.shape[:-3], self.config.views, -1, *latents.shape[-2:])
        return unfold_views(from_patches(views.movedim(-3, -1) @ weight + self.mean, self.config.patch))


def fit_pca(frames: Tensor, config: PcaConfig, floor: float = 0.1) -> PcaCodec:
    """Fit on ``(N, H, W, 3)`` uint8 frames, by the covariance of all their patches in float64.

    ``floor``: smallest latent scale as a part of the largest. A component of less variance keeps less than
    unit variance, so the rounding noise of 8-bit frames is not blown up with it.
    """
    check_frames(frames, config.patch)
    size = config.patch**2 * 3
    total, square, count = torch.zeros(size, dtype=torch.float64), torch.zeros(size, size, dtype=torch.float64), 0
    for batch in torch.split(frames, _BATCH):
        patches = to_patches(fold_views(batch, config.views), config.patch).reshape(-1, size).double() / 255
        total += patches.sum(0)
        square += patches.mT @ patches
        count += len(patches)
    mean = total / count
    variance, vectors = torch.linalg.eigh(square / count - mean.outer(mean))  # ascending
    kept = vectors.flip(-1)[:, : config.channels]
    kept = kept * kept.gather(0, kept.abs().argmax(0, keepdim=True)).sign()  # one sign on every machine
    scale = variance.flip(0)[: config.channels].clamp_min(0).sqrt()
    codec = PcaCodec(config)
    codec.basis.copy_(kept)
    codec.mean.copy_(mean)
    codec.scale.copy_(scale.clamp_min(max(float(floor * scale[0]), 1e-6)))
    return codec
