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

ARM_TEACHERS = {
    "SimForcing/Libero-Teacher-v0": ("LiberoTeacher", {}),  # suite=, task=, cameras=, size=, frame_hz=, look=
    "SimForcing/Robosuite-Teacher-v0": ("Teacher", {"teacher": "robosuite_lift"}),  # task= and the same
}
ARM_STEPS = 150  # calls of step: 30 s at one frame of 0.2 s each


def register_worlds() -> None:
    """Register every world that is not registered yet."""
    for world in WORLDS:
        learned = {"checkpoint": world.checkpoint, "world": world.name}
        steps = world.max_episode_steps
        _register(world.id, "env:WorldModelEnv", "vector_env:WorldModelVectorEnv", steps, learned)
        teacher = {"teacher": world.name}
        _register(world.teacher_id, "teacher_env:TeacherEnv", "teacher_env:TeacherVectorEnv", steps, teacher)
    for name, (kind, chosen) in ARM_TEACHERS.items():
        _register(name, f"teacher_env:{kind}Env", f"teacher_env:{kind}VectorEnv", ARM_STEPS, chosen)


def _register(name: str, single: str, vector: str, max_episode_steps: int, kwargs: dict[str, str]) -> None:
    if name not in gym.registry:
        gym.register(
            name,
            entry_point=f"simforcing_env.{single}",
            vector_entry_point=f"simforcing_env.{vector}",
            max_episode_steps=max_episode_steps,
            kwargs=kwargs,
        )
