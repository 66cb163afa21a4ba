"""The two halves that the convolutional forms share: an encoder to two scales, and a drawer back from them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from world_model.errors import InputError
from world_model.models.layers import FilmResBlock, SpatialAttention
from world_model.rules import Choice, Rule, Several, Whole, settle

Added = Callable[[int], Tensor | None]
"""What joins the input of each numbered block, if anything."""


@dataclass(frozen=True)
class UNetConfig:
    """Channels at full and at half resolution, and the residual blocks of the latter."""

    width: int = 64
    deep_width: int = 128
    deep_blocks: int = 2
    heads: int = 4

    def __post_init__(self) -> None:
        size = Whole(1, 65_536)
        settle(self, {"width": size, "deep_width": size, "deep_blocks": Whole(0, 256), "heads": size})
        if self.deep_width % self.heads:
            raise InputError(f"deep_width is {self.deep_width}, which {self.heads} heads cannot share; use a multiple")

    @property
    def injected(self) -> tuple[tuple[int, int], ...]:
        """Channels of the drawer's blocks in their order, and the side of their cells in latent ones."""
        return ((self.width, 1), *((self.deep_width, 2),) * self.deep_blocks, (self.width, 1))


DRAWING: dict[str, Rule] = {
    "latent_channels": Whole(1, 65_536),
    "grid": Several(Whole(2, 65_536), 2),
    "condition_dim": Whole(1, 65_536),
    "prediction": Choice(("x0", "v")),
    "proprio_points": Several(Whole(0, 65_536), least=0),
}
"""Rules of the fields that the convolutional forms' configs share."""


class Encoder(nn.Module):
    """Pictures to features at full and half resolution, under a condition."""

    def __init__(self, config: UNetConfig, channels: int, condition_dim: int) -> None:
        super().__init__()
        width, deep = config.width, config.deep_width
        self.enter = nn.Conv2d(channels, width, 3, padding=1)
        self.block = FilmResBlock(width, condition_dim)
        self.down = nn.Conv2d(width, deep, 2, stride=2)
        self.deep = nn.ModuleList(FilmResBlock(deep, condition_dim) for _ in range(config.deep_blocks))
        self.attention = SpatialAttention(deep, config.heads)

    def forward(
        self,
        x: Tensor,
        condition: Tensor,
        fine: Tensor | float = 0.0,
        coarse: Tensor | float = 0.0,
        added: Added | None = None,
    ) -> tuple[Tensor, Tensor]:
        """``x`` ``(B, C, U, V)``, ``condition`` ``(B, D)``; ``fine`` and ``coarse`` are added at their scales.

        Returns features ``(B, W, U, V)`` and ``(B, W', U/2, V/2)``.
        """
        features = self.block(_join(self.enter(x) + fine, added, 0), condition)
        deep = self.down(features) + coarse
        for number, block in enumerate(self.deep, start=1):
            deep = block(_join(deep, added, number), condition)
        return features, self.attention(deep)


class Drawer(nn.Module):
    """Noisy latents, features of other frames and a condition to latents, and a guess of the error."""

    def __init__(self, config: UNetConfig, channels: int, out_channels: int, condition_dim: int) -> None:
        super().__init__()
        width, deep = config.width, config.deep_width
        self.encoder = Encoder(config, channels, condition_dim)
        self.up = nn.Conv2d(deep, 4 * width, 1)
        self.merge = FilmResBlock(width, condition_dim)
        self.out = nn.Conv2d(width, out_channels, 3, padding=1)
        self.error = nn.Linear(deep + condition_dim, 1)

    def forward(
        self, x: Tensor, condition: Tensor, features: Tensor, deep: Tensor, added: Added | None = None
    ) -> tuple[Tensor, Tensor]:
        """``features`` and ``deep`` as `Encoder` returns them, added at their scales; ``added`` joins its blocks.

        Returns ``(B, out, U, V)`` and log error ``(B, 1)``.
        """
        skip, y = self.encoder(x, condition, features, deep, added)
        log_error = self.error(torch.cat([y.mean(dim=(2, 3)), condition], dim=-1).detach())
        y = _join(F.pixel_shuffle(self.up(y), 2) + skip, added, len(self.encoder.deep) + 1)
        return self.out(F.silu(self.merge(y, condition))).float(), log_error


def _join(x: Tensor, added: Added | None, number: int) -> Tensor:
    more = None if added is None else added(number)
    return x if more is None else x + more.type_as(x)
