"""Options of the pose reader's training; light, so that ``--help`` is quick."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ReaderTraining:
    """What the reader is shown and for how long."""

    scenes: int = 50_000
    """Pictures drawn before training."""
    minutes: float = 7.0
    """Wall-clock budget after drawing."""
    steps: int | None = None
    """End after so many steps if that is sooner."""
    batch: int = 64
    learning_rate: float = 2e-3
    near: float = 0.35
    """Share of scenes with the block about the goal."""
    touching: float = 0.4
    """Share of scenes with the pusher at, or on, the block."""
    smeared: float = 0.25
    """Share of pictures that are the mean of three poses, as an averaging model draws them."""
    other_goal: float = 0.1
    """Share of scenes with the goal elsewhere."""
