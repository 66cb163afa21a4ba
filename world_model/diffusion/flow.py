"""Flow matching on a straight path: ``z_s = (1 - s) x + s e`` with data x, Gaussian noise e, level s in [0, 1]."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import torch
from torch import Tensor

from world_model.rules import Number, settle

GRID = 1000
"""Levels over which the weights of `level_weight` are normalised."""


@dataclass(frozen=True)
class NoiseConfig:
    """How training draws noise levels.

    ``pure`` is the share of frames at level 1, where a few-step sampler starts; the rest are drawn uniformly
    and pushed towards 1 by ``shift`` (``s' = shift s / (1 + (shift - 1) s)``, as Wan and SD3 do).
    """

    pure: float = 0.5
    shift: float = 1.0

    def __post_init__(self) -> None:
        settle(self, {"pure": Number(0, 1), "shift": Number(1e-3, 1e3)})


def shift_levels(levels: Tensor, shift: float) -> Tensor:
    """``shift s / (1 + (shift - 1) s)``."""
    return shift * levels / (1 + (shift - 1) * levels)


def draw_levels(
    shape: tuple[int, ...], config: NoiseConfig, generator: torch.Generator, device: torch.device
) -> Tensor:
    """Noise levels in [0, 1] of the given shape."""
    levels = shift_levels(torch.rand(shape, generator=generator, device=generator.device), config.shift)
    pure = torch.rand(shape, generator=generator, device=generator.device) < config.pure
    return torch.where(pure, torch.ones_like(levels), levels).to(device)


def draw_noise(like: Tensor, generator: torch.Generator) -> Tensor:
    """Standard normal noise of a tensor's shape and dtype, drawn on the generator's device."""
    noise = torch.randn(like.shape, generator=generator, device=generator.device, dtype=torch.float32)
    return noise.to(device=like.device, dtype=like.dtype)


def add_noise(clean: Tensor, noise: Tensor, levels: Tensor) -> Tensor:
    """``clean`` ``(B, n, ...)`` at ``levels`` ``(B, n)``."""
    s = levels.reshape(levels.shape + (1,) * (clean.ndim - levels.ndim)).to(clean.dtype)
    return (1 - s) * clean + s * noise


def level_grid(steps: int, shift: float = 1.0) -> Tensor:
    """``steps + 1`` levels from 1 down to 0."""
    return shift_levels(torch.linspace(1, 0, steps + 1), shift)


def level_weight(levels: Tensor, shift: float = 5.0) -> Tensor:
    """Weight of each level in [0, 1]: a bell about 0.5, 0 at pure noise, of mean 1 over the shifted grid."""
    low, mean = _bell_statistics(shift)
    return (_bell(levels.float()) - low) / mean


def channel_error(estimate: Tensor, target: Tensor, weights: tuple[float, ...]) -> Tensor:
    """Mean squared error ``(B, n)`` of latents ``(B, n, C, U, V)``, channels weighted (equally if none are given).

    With a linear codec's squared channel scales as weights it is proportional to the pixel error.
    """
    squared = (estimate.float() - target.float()).square()
    if weights:
        weight = squared.new_tensor(weights)
        squared = squared * (weight / weight.mean())[:, None, None]
    return squared.mean(dim=(-3, -2, -1))


def _bell(levels: Tensor) -> Tensor:
    return torch.exp(-2 * (levels - 0.5).square())


@functools.cache
def _bell_statistics(shift: float) -> tuple[float, float]:
    """Least value of the bell over the shifted grid, which the noisiest level has, and its mean above that."""
    values = _bell(shift_levels(torch.linspace(1, 0, GRID + 1, dtype=torch.float64)[:-1], shift))
    low = float(values.min())
    return low, float(values.mean()) - low
