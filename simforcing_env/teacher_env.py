"""True simulators as Gymnasium environments, with the spaces, infos and chunks of the learned ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from gymnasium.vector import AutoresetMode

from simforcing_env.chunk_env import ChunkVectorEnv
from simforcing_env.config import NUM_ENVS, EnvConfig
from simforcing_env.single_env import ChunkEnv
from simforcing_env.teacher_backend import TeacherBackend
from teachers.registry import make_teacher
from teachers.teacher import Teacher
from world_model.errors import InputError
from world_model.extras import require
from world_model.rules import TEXT, Either, Several, Whole, field_names, follow, or_none, shown

TeacherFactory = Callable[[], Teacher]
TASK = Either(Whole(0, 1000), TEXT)
TASKS = or_none(Either(TASK, Several(TASK)))


class TeacherVectorEnv(ChunkVectorEnv):
    """``num_envs`` true simulators, stepped one after another in this process.

    Args:
        num_envs: at most 65,536.
        teacher: name of a world (of `teachers.registry.TEACHERS`), or a function that makes a teacher.
        starts: names to draw episodes from, such as those that a checkpoint ships; None draws training starts.
        autoreset_mode: an `AutoresetMode` or its value.
        options: those of `EnvConfig`, and those of the teacher's own config by their names: ``size``, ``look`` and
            ``goal`` of Push-T (`PushTConfig`); ``task`` of robosuite and ``cameras``, ``size``, ``frame_hz``, ``look``
            of both arms (`RobosuiteConfig`, `LiberoConfig`). Without ``frames_in_info`` only observations are
            rendered, so chunks are quicker.

    Raises:
        MissingExtraError: the simulator is not installed.
        InputError: an unknown option, or a value of a wrong type or out of its range.
    """

    def __init__(
        self,
        num_envs: int = 1,
        *,
        teacher: str | TeacherFactory = "pusht",
        starts: Sequence[str] | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        **options: Any,
    ) -> None:
        num_envs = follow(NUM_ENVS, "num_envs", num_envs)
        starts = follow(or_none(Several(TEXT)), "starts", starts)
        own, factory = _teacher(teacher)
        config = EnvConfig.of(autoreset_mode, options, own)
        settings = {name: options[name] for name in options if name in own}
        made = [factory(settings) for _ in range(num_envs)]
        every_frame = config.frames_in_info or config.render_mode == "rgb_array_list"
        super().__init__(TeacherBackend(made, starts, every_frame), num_envs, config)


def _teacher(teacher: str | TeacherFactory) -> tuple[tuple[str, ...], Callable[[dict[str, Any]], Teacher]]:
    """Names of a teacher's own options, and what makes one from them."""
    if isinstance(teacher, str):
        stock: Any = make_teacher(teacher)
        return field_names(stock.config), lambda options: type(stock)(replace(stock.config, **options))
    if callable(teacher):
        return (), lambda _: teacher()
    raise InputError(f"teacher is {shown(teacher)} but must be a name such as 'pusht', or a function that makes one")


class LiberoTeacherVectorEnv(TeacherVectorEnv):
    """``num_envs`` episodes of LIBERO; those of one task share a simulator.

    Args:
        suite: such as "libero_goal".
        task: number or name of a task, several of them, or None for all of the suite.
        starts: names to draw episodes from; None draws training starts of the tasks.
        options: as of `TeacherVectorEnv`.
    """

    def __init__(
        self,
        num_envs: int = 1,
        *,
        suite: str = "libero_goal",
        task: int | str | Sequence[int | str] | None = None,
        starts: Sequence[str] | None = None,
        **options: Any,
    ) -> None:
        tasks = follow(TASKS, "task", task)
        if starts is None:
            chosen = tasks if task is None or isinstance(tasks, tuple) else (tasks,)
            suite = follow(TEXT, "suite", suite)
            starts = require("teachers.libero.suites", "libero").starts(suite, chosen=chosen)
        super().__init__(num_envs, teacher="libero_goal", suite=suite, starts=starts, **options)


class TeacherEnv(ChunkEnv):
    """One true simulator; arguments as of `TeacherVectorEnv`."""

    form = TeacherVectorEnv


class LiberoTeacherEnv(ChunkEnv):
    """One episode of LIBERO; arguments as of `LiberoTeacherVectorEnv`."""

    form = LiberoTeacherVectorEnv
