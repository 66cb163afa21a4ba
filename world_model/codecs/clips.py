"""Codecs that compress time: after the first frame, every ``stride`` frames of a clip share a latent frame.

Such a codec has ``stride``, ``encode_clip`` and ``decode_clip`` beside `interface.Codec`; others are of stride 1.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def stride_of(codec: Any) -> int:
    """Frames of a latent frame."""
    return int(getattr(codec, "stride", 1))


def encode_clip(codec: Any, frames: Tensor) -> Tensor:
    """``(B, 1 + k stride, H, W, 3)`` uint8 to ``(B, 1 + k, C, U, V)``; the first latent frame is its frame's own."""
    latents: Tensor = codec.encode(frames) if stride_of(codec) == 1 else codec.encode_clip(frames)
    return latents


def decode_after(codec: Any, known: Tensor, new: Tensor) -> Tensor:
    """Frames ``(B, k stride, H, W, 3)`` of ``new`` latents ``(B, k, C, U, V)`` after ``known`` ``(B, 1, ...)``."""
    if stride_of(codec) == 1:
        plain: Tensor = codec.decode(new)
        return plain
    frames: Tensor = codec.decode_clip(torch.cat([known.to(new.dtype), new], dim=1))
    return frames[:, 1:]
