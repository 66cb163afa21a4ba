"""Where plans are carried out: the true simulator of a world, its starts and tasks, and what it says of an episode."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import cast

import numpy as np

from simforcing_env.chunk_env import ChunkVectorEnv
from simforcing_env.evaluation.comparison.starts import Split, first_starts, task_words
from simforcing_env.planning.world import Array
from simforcing_env.policies.policy import Task
from simforcing_env.registration import WORLDS, World
from simforcing_env.teacher_backend import TeacherBackend
from simforcing_env.teacher_env import TeacherVectorEnv
from world_model.contract import Contract
from world_model.errors import InputError
from world_model.pretrained import task_of
from world_model.training.recipes_pusht import PUSHT_STATE


@dataclass(frozen=True)
class Habits:
    """How episodes of a kind of world are planned where nothing else is asked for."""

    value: str
    """See `values.make_value`."""
    steps: int
    """Actions of an episode."""
    ends: bool
    """Success ends an episode; otherwise it goes on, and where things lie at its end counts."""
    last: int
    """See `ScoreConfig`, as for the next one."""
    continuations: int
    state: Callable[[ChunkVectorEnv], Array] | None = None
    """See `EnvWorld`."""


def _pusht_state(env: ChunkVectorEnv) -> Array:
    teachers = cast(TeacherBackend, env.backend).teachers
    return PUSHT_STATE.encode(np.stack([teacher.state for teacher in teachers]))


HABITS: Mapping[str, Habits] = MappingProxyType(
    {
        "pusht": Habits("points", 300, ends=False, last=4, continuations=1, state=_pusht_state),
        "libero": Habits("success", 176, ends=True, last=0, continuations=10),
    }
)
"""Beginning of a world's name to its habits."""


@dataclass(frozen=True)
class Arena:
    """The teacher of a registered learned environment."""

    world: World
    habits: Habits

    @classmethod
    def of(cls, env: str) -> Arena:
        """By the id of the learned environment.

        Raises:
            InputError: no such environment, or one whose episodes nobody judges here.
        """
        for world in WORLDS:
            for beginning, habits in HABITS.items():
                if world.id == env and world.name.startswith(beginning):
                    return cls(world, habits)
        raise InputError(f"plans are not tried in {env!r}; choose one of {', '.join(world.id for world in WORLDS)}")

    def env(self, contract: Contract, count: int, chunk: int, every_frame: bool = False) -> ChunkVectorEnv:
        """``count`` true episodes side by side, under ``contract``."""
        from teachers.registry import make_teacher

        return TeacherVectorEnv(
            count,
            teacher=lambda: make_teacher(contract.name, contract),
            chunk=chunk,
            frames_in_info=every_frame,
            success_threshold=0.5 if self.habits.ends else 1.0,
            autoreset_mode="Disabled",
        )

    def starts(self, split: Split, episodes: int, together: int, tasks: Sequence[int] = ()) -> list[str]:
        """The first ``episodes`` of each task, or of ``tasks`` alone, ``together`` of one task in turn.

        Raises:
            InputError: no starts are left.
        """
        names = first_starts(self.world.name, split, episodes, together)
        chosen = [name for name in names if not tasks or task_of(name) in tasks]
        if not chosen:
            raise InputError(f"{self.world.name} has no starts of tasks {tuple(tasks)}; name tasks that it has")
        return chosen

    def task(self) -> Callable[[str], Task]:
        """What makes the task of a start."""
        words: Sequence[str] = task_words(self.world.name)

        def task(start: str) -> Task:
            number = task_of(start)
            return Task(number, words[number] if number < len(words) else "")

        return task
