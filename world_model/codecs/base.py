"""What every codec of this package is: an `interface.Codec` that is also a module with a config."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from torch import Tensor, nn


class CodecModule(nn.Module, ABC):
    """Base of the codecs; weights and statistics are its state dict, in float32."""

    config: Any
    latent_channels: int
    downsample: int

    @abstractmethod
    def encode(self, frames: Tensor) -> Tensor:
        """``(..., H, W, 3)`` uint8 to ``(..., C, U, V)`` float32."""

    @abstractmethod
    def decode(self, latents: Tensor) -> Tensor:
        """``(..., C, U, V)`` to ``(..., H, W, 3)`` float32 in [0, 1] (not clipped, not rounded)."""
