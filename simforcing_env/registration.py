"""The ids that ``import simforcing_env`` registers; nothing heavier than Gymnasium is imported for it."""

from __future__ import annotations

from collections.abc import Mapping
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
    teacher: tuple[str, Mapping[str, object]]
    """Form of the teacher's environment, and its options."""


def _suite(name: str, title: str, nano: str) -> World:
    """A LIBERO suite, learned from pictures of the fast look."""
    teacher = "LiberoTeacher", {"suite": name, "look": "fast"}
    return World(name, f"SimForcing/{title}-v0", f"SimForcing/{title}-Teacher-v0", nano, ARM_STEPS, teacher)


ARM_STEPS = 150  # calls of step: 30 s at one frame of 0.2 s each
WORLDS = (
    World(
        "pusht",
        "SimForcing/PushT-v0",
        "SimForcing/PushT-Teacher-v0",
        "pusht-nano",
        300,
        ("Teacher", {"teacher": "pusht"}),
    ),
    _suite("libero_goal", "LiberoGoal", "libero-goal-nano"),
    _suite("libero_object", "LiberoObject", "libero-object-nano"),
)

ARM_TEACHERS: Mapping[str, tuple[str, Mapping[str, object]]] = {
    "SimForcing/Libero-Teacher-v0": ("LiberoTeacher", {}),  # suite=, task=, cameras=, size=, frame_hz=, look=
    "SimForcing/Robosuite-Teacher-v0": ("Teacher", {"teacher": "robosuite_lift"}),  # task= and the same
}


def register_worlds() -> None:
    """Register every world that is not registered yet."""
    for world in WORLDS:
        learned = {"checkpoint": world.checkpoint, "world": world.name}
        _register(world.id, "env:WorldModelEnv", "vector_env:WorldModelVectorEnv", world.max_episode_steps, learned)
        _register_teacher(world.teacher_id, *world.teacher, world.max_episode_steps)
    for name, (form, options) in ARM_TEACHERS.items():
        _register_teacher(name, form, options, ARM_STEPS)


def _register_teacher(name: str, form: str, options: Mapping[str, object], steps: int) -> None:
    _register(name, f"teacher_env:{form}Env", f"teacher_env:{form}VectorEnv", steps, options)


def _register(name: str, single: str, vector: str, max_episode_steps: int, kwargs: Mapping[str, object]) -> None:
    if name not in gym.registry:
        gym.register(
            name,
            entry_point=f"simforcing_env.{single}",
            vector_entry_point=f"simforcing_env.{vector}",
            max_episode_steps=max_episode_steps,
            kwargs=dict(kwargs),
        )
