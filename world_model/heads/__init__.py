"""Heads: reward and success read from latents of 8-bit frames."""

from __future__ import annotations

from torch import nn

from world_model.heads.outcome import OutcomeConfig, OutcomeHeads

HEADS: dict[str, tuple[type, type[nn.Module]]] = {"outcome": (OutcomeConfig, OutcomeHeads)}

__all__ = ["HEADS", "OutcomeConfig", "OutcomeHeads"]
