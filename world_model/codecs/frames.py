"""Shared by codecs: frames to batches of patches and back, statistics, and the checks of both."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from world_model.errors import InputError


class Affine(NamedTuple):
    """Mean and scale per channel, each ``(C,)``: a normalised value is (value - mean) / scale."""

    mean: Tensor
    scale: Tensor


def check_frames(frames: Tensor, downsample: int) -> None:
    """Refuse frames that are not ``(..., H, W, 3)`` uint8 with H and W multiples of ``downsample``.

    Raises:
        InputError: with the shape or type that was given.
    """
    if frames.dtype != torch.uint8 or frames.ndim < 3 or frames.shape[-1] != 3:
        raise InputError(
            f"frames are {str(frames.dtype).removeprefix('torch.')} of shape {tuple(frames.shape)} but a codec takes "
            "uint8 (..., height, width, 3); convert them first"
        )
    height, width = frames.shape[-3:-1]
    if height % downsample or width % downsample:
        raise InputError(
            f"frames are {height} x {width} pixels but this codec needs multiples of {downsample}; resize or pad them"
        )


def check_latents(latents: Tensor, channels: int) -> None:
    """Refuse latents that are not ``(..., channels, U, V)``.

    Raises:
        InputError: with the shape that was given.
    """
    if latents.ndim < 3 or latents.shape[-3] != channels:
        raise InputError(
            f"latents have shape {tuple(latents.shape)} but this codec takes (..., {channels}, U, V); "
            "use the codec that made them"
        )


def to_patches(frames: Tensor, patch: int) -> Tensor:
    """``(..., H, W, 3)`` to ``(..., U, V, patch * patch * 3)``, each patch row by row, channels last."""
    *lead, height, width, channels = frames.shape
    cut = frames.reshape(*lead, height // patch, patch, width // patch, patch, channels).transpose(-4, -3)
    return cut.reshape(*lead, height // patch, width // patch, patch * patch * channels)


def from_patches(patches: Tensor, patch: int) -> Tensor:
    """Inverse of `to_patches`."""
    *lead, rows, columns, size = patches.shape
    cut = patches.reshape(*lead, rows, columns, patch, patch, size // patch**2).transpose(-4, -3)
    return cut.reshape(*lead, rows * patch, columns * patch, size // patch**2)


def fold_views(frames: Tensor, views: int) -> Tensor:
    """Canvas ``(..., H, views W, 3)`` to ``(..., views, H, W, 3)``."""
    if frames.shape[-2] % views:
        raise InputError(
            f"frames are {frames.shape[-2]} pixels wide, which {views} equal views cannot be; use this codec's cameras"
        )
    return frames.reshape(*frames.shape[:-2], views, -1, 3).movedim(-3, -4)


def unfold_views(frames: Tensor) -> Tensor:
    """Inverse of `fold_views`."""
    return frames.movedim(-4, -3).flatten(-3, -2)


def statistics(values: Tensor, floor: float) -> Affine:
    """Mean and standard deviation of ``(N, C)``; the scale is at least ``floor`` times the largest.

    Without the floor, channels of tiny variance would be blown up to unit variance together with the
    rounding and compression noise in them.
    """
    scale = values.double().std(0, correction=0)
    scale = scale.clamp_min(float(floor * scale.max())).clamp_min(1e-6)
    return Affine(values.double().mean(0).float(), scale.float())
