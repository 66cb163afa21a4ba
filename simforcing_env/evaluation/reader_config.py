"""Options of the pose reader's training; light, so that ``--help`` is quick."""

from __future__ import annotations

from dataclasses import dataclass, field

from simforcing_env.evaluation.scene_config import SceneMix


@dataclass(frozen=True)
class ReaderTraining:
    """What the reader is shown and for how long."""

    scenes: int = 50_000
    """Pictures drawn before training."""
    mix: SceneMix = field(default_factory=SceneMix)
    minutes: float = 8.0
    """Budget of processor time after drawing."""
    steps: int | None = None
    """End after so many steps if that is sooner."""
    batch: int = 64
    """Frames per step."""
    learning_rate: float = 2e-3
    """Highest one; it falls along a cosine."""
