"""Outcome heads: shares (such as coverage) and probabilities of events (such as success) per frame."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from world_model.errors import InputError
from world_model.heads.base import LabelHeads
from world_model.models.layers import ResBlock


@dataclass(frozen=True)
class OutcomeConfig:
    """What is read from a frame, how reward and success follow from it, and the net's shape."""

    latent_channels: int = 24
    grid: tuple[int, int] = (16, 16)
    proprio_dim: int = 2
    shares: tuple[str, ...] = ("coverage", "iou")
    """Labels in [0, 1], regressed."""
    events: tuple[str, ...] = ("success_coverage", "success_pose")
    """Labels of 0 or 1, of which the probability is predicted."""
    reward: str = "coverage"
    """The label that the reward is made of."""
    reward_full: float = 0.95
    """Its value at which the reward reaches 1."""
    success: str = "success_coverage"
    """The event that counts as success."""
    tasks: int = 0
    """Tasks of a suite; "{task}" in the names of reward and success stands for the episode's own."""
    width: int = 32
    dilations: tuple[int, ...] = (1, 2)
    """One residual block each."""
    squeeze: int = 12
    """Channels of the map that the readout sees whole, every place with weights of its own."""
    hidden: int = 96


class OutcomeHeads(LabelHeads):
    """Read from latents of 8-bit frames and proprio."""

    def __init__(self, config: OutcomeConfig) -> None:
        super().__init__(config)
        self.config = config
        rows, columns = config.grid
        self.stem = nn.Conv2d(config.latent_channels, config.width, 3, padding=1)
        self.blocks = nn.Sequential(*(ResBlock(config.width, d) for d in config.dilations))
        self.squeeze = nn.Conv2d(config.width, config.squeeze, 1)
        self.hidden = nn.Linear(config.squeeze * rows * columns + config.proprio_dim, config.hidden)
        self.readout = nn.Linear(config.hidden, len(self.labels))

    def forward(self, latents: Tensor, proprio: Tensor, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """``(N, C, U, V)`` and ``(N, P)`` to unclipped shares ``(N, shares)`` and untempered logits ``(N, events)``.

        Raises:
            InputError: latents or proprio of another shape.
        """
        wanted = (self.config.latent_channels, *self.config.grid)
        if latents.shape[1:] != wanted or proprio.shape != (len(latents), self.config.proprio_dim):
            raise InputError(
                f"heads got latents {tuple(latents.shape)} and proprio {tuple(proprio.shape)} but take "
                f"{('N', *wanted)} and {('N', self.config.proprio_dim)}; use the codec that they were trained with"
            )
        x = self.blocks(self.stem(latents.contiguous(memory_format=torch.channels_last)))
        seen = functional.silu(self.squeeze(functional.silu(x))).flatten(1)
        hidden = functional.silu(self.hidden(torch.cat([seen, proprio.to(seen.dtype)], 1)))
        shares, logits = self.readout(hidden).float().split([len(self.config.shares), len(self.config.events)], 1)
        return shares, logits
