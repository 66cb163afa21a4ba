"""Heads: reward and success read from latents of 8-bit frames, or from the model's own state."""

from __future__ import annotations

from torch import nn

from world_model.heads.base import LabelHeads
from world_model.heads.outcome import OutcomeConfig, OutcomeHeads
from world_model.heads.state import StateHeadConfig, StateHeads

HEADS: dict[str, tuple[type, type[nn.Module]]] = {
    "outcome": (OutcomeConfig, OutcomeHeads),
    "state": (StateHeadConfig, StateHeads),
}

__all__ = ["HEADS", "LabelHeads", "OutcomeConfig", "OutcomeHeads", "StateHeadConfig", "StateHeads"]
