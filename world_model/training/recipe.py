"""What a training recipe is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from world_model.errors import InputError
from world_model.training.config import TrainConfig

SIDES = ("", "sim", "real", "pairs")


@dataclass(frozen=True)
class Recipe:
    """What ``simforcing train --config NAME`` does; see the dataclasses for each part."""

    train: TrainConfig
    codec: dict[str, Any] = field(default_factory=lambda: {"kind": "pca", "patch": 4, "channels": 24})
    """``{"kind": ..., **fields}`` for `world_model.codecs.making.MAKERS`; ``--codec`` gives another."""
    sampler: dict[str, Any] = field(default_factory=lambda: {"kind": "euler", "steps": 1, "shift": 1.0})
    history: int = 3
    """Clean frames a rollout keeps."""
    side: str = ""
    """Of a folder of pairs: "sim", "real", or "pairs" for both; "" for a plain data set."""
    episodes: int = 0
    """Use the first so many episodes or pairs only, 0 for all; of simulated frames a codec is fitted to all."""

    pretrained: str = ""
    """Folder or hub id, in the layout of diffusers, of the transformer that a new Wan model begins with; "" for random
    weights."""

    def __post_init__(self) -> None:
        if self.history < 1:
            raise InputError(f"the recipe's history is {self.history} frames but a rollout needs at least 1; raise it")
        if self.side not in SIDES:
            raise InputError(f"the recipe's side is {self.side!r} but must be one of {', '.join(map(repr, SIDES))}")
