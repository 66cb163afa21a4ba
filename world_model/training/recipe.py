"""What a training recipe is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from world_model.errors import InputError
from world_model.training.config import TrainConfig


@dataclass(frozen=True)
class Recipe:
    """What ``simforcing train --config NAME`` does; see the dataclasses for each part."""

    train: TrainConfig
    codec: dict[str, Any] = field(default_factory=lambda: {"kind": "pca", "patch": 4, "channels": 24})
    """``{"kind": ..., **fields}`` for `world_model.codecs.making.MAKERS`; ``--codec`` gives another."""
    sampler: dict[str, Any] = field(default_factory=lambda: {"kind": "euler", "steps": 1, "shift": 1.0})
    history: int = 3
    """Clean frames a rollout keeps."""

    def __post_init__(self) -> None:
        if self.history < 1:
            raise InputError(f"the recipe's history is {self.history} frames but a rollout needs at least 1; raise it")
