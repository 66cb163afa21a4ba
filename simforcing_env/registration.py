"""The ids that ``import simforcing_env`` registers; nothing heavier than Gymnasium is imported for it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import gymnasium as gym

WEIGHTS = Path(__file__).parent / "weights"
"""Folder of the packaged checkpoints."""


@dataclass(frozen=True)
class World:
    """One world: the learned environment and, under the same spaces, its teacher."""

    name: str
    """Of its contract and its teacher."""
    id: str
    teacher_id: str
    checkpoint: str
    max_episode_steps: int


WORLDS = (World("pusht", "SimForcing/PushT-v0", "SimForcing/PushT-Teacher-v0", "pusht-nano", 300),)


def register_worlds() -> None:
    """Register every world that is not registered yet."""
    for world in WORLDS:
        learned = {"checkpoint": world.checkpoint, "world": world.name}
        _register(world.id, "env:WorldModelEnv", "vector_env:WorldModelVectorEnv", world, learned)
        teacher = {"teacher": world.name}
        _register(world.teacher_id, "teacher_env:TeacherEnv", "teacher_env:TeacherVectorEnv", world, teacher)


def _register(name: str, single: str, vector: str, world: World, kwargs: dict[str, str]) -> None:
    if name not in gym.registry:
        gym.register(
            name,
            entry_point=f"simforcing_env.{single}",
            vector_entry_point=f"simforcing_env.{vector}",
            max_episode_steps=world.max_episode_steps,
            kwargs=kwargs,
        )
