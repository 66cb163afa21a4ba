"""How latents become tokens and tokens latents: the published patch convolution, or a convolutional stem and head."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from einops import rearrange
from torch import Tensor, nn

from world_model.models.layers import zero_linear


class PatchStem(nn.Module):
    """One strided convolution, initialised as a linear layer."""

    def __init__(self, channels: int, patch: int, dim: int, width: int) -> None:
        super().__init__()
        self.proj = nn.Conv2d(channels, dim, patch, stride=patch)
        nn.init.xavier_uniform_(self.proj.weight.view(dim, -1))
        self.proj.bias.data.zero_()  # type: ignore[union-attr]

    def forward(self, x: Tensor) -> tuple[Tensor, None]:
        """``(N, C, U, V)`` to tokens ``(N, P, D)``."""
        return self.proj(x).flatten(2).mT, None


class PatchHead(nn.Module):
    """One zero-initialised linear layer per token."""

    def __init__(self, dim: int, patch: int, channels: int, width: int) -> None:
        super().__init__()
        self.patch = patch
        self.linear = zero_linear(dim, patch**2 * channels)

    def forward(self, tokens: Tensor, skip: None, grid: tuple[int, int]) -> Tensor:
        """``(N, P, D)`` to ``(N, C, U, V)``."""
        p, rows = self.patch, grid[0] // self.patch
        return rearrange(self.linear(tokens), "n (r s) (p q c) -> n c (r p) (s q)", r=rows, p=p, q=p)


class ConvStem(nn.Module):
    """Two 3 x 3 convolutions at full latent resolution, then patches; the features go on to the head."""

    def __init__(self, channels: int, patch: int, dim: int, width: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, width, 3, padding=1)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1)
        self.proj = nn.Conv2d(width, dim, patch, stride=patch)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """``(N, C, U, V)`` to tokens ``(N, P, D)`` and features ``(N, W, U, V)``."""
        features = self.conv2(F.silu(self.conv1(x)))
        return self.proj(F.silu(features)).flatten(2).mT, features


class ConvHead(nn.Module):
    """Tokens are spread over their patches, joined with the stem's features and convolved."""

    def __init__(self, dim: int, patch: int, channels: int, width: int) -> None:
        super().__init__()
        self.patch = patch
        self.linear = nn.Linear(dim, patch**2 * width)
        self.conv1 = nn.Conv2d(2 * width, width, 3, padding=1)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1)
        self.out = nn.Conv2d(width, channels, 3, padding=1)
        nn.init.zeros_(self.out.weight)

    def forward(self, tokens: Tensor, skip: Tensor, grid: tuple[int, int]) -> Tensor:
        """``(N, P, D)`` and ``(N, W, U, V)`` to ``(N, C, U, V)``."""
        p, rows = self.patch, grid[0] // self.patch
        spread = rearrange(self.linear(tokens), "n (r s) (p q c) -> n c (r p) (s q)", r=rows, p=p, q=p)
        x = self.conv1(F.silu(torch.cat([spread, skip], dim=1)))
        return self.out(F.silu(self.conv2(F.silu(x)) + x))


STEMS: dict[str, type[PatchStem] | type[ConvStem]] = {"patch": PatchStem, "conv": ConvStem}
HEADS: dict[str, type[PatchHead] | type[ConvHead]] = {"patch": PatchHead, "conv": ConvHead}
