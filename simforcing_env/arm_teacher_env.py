"""LIBERO and robosuite as Gymnasium environments, with the spaces of the learned ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Unpack

from gymnasium.vector import AutoresetMode

from simforcing_env.config import EnvOptions
from simforcing_env.single_env import ChunkEnv
from simforcing_env.teacher_env import TeacherVectorEnv
from world_model.extras import require

Look = Literal["stock", "fast"]


class LiberoTeacherVectorEnv(TeacherVectorEnv):
    """``num_envs`` episodes of LIBERO; those of one task share a simulator.

    Args:
        suite: such as "libero_goal".
        task: number or name of a task, several of them, or None for all of the suite.
        starts: names to draw episodes from; None draws training starts of the tasks.
        cameras: of "agentview" and "wrist".
        size: height and width of frames in pixels.
        frame_hz: frames per second; each takes ``20 / frame_hz`` actions.
        look: "fast" draws meshes with fewer faces.
        autoreset_mode: as of `TeacherVectorEnv`.
        options: as of `TeacherVectorEnv`.

    Raises:
        MissingExtraError: LIBERO is not installed.
        InputError: an unknown suite, task, camera or look, or a size or rate that cannot be.
    """

    def __init__(
        self,
        num_envs: int = 1,
        *,
        suite: str = "libero_goal",
        task: int | str | Sequence[int | str] | None = None,
        starts: Sequence[str] | None = None,
        cameras: Sequence[str] = ("agentview", "wrist"),
        size: int = 128,
        frame_hz: float = 5.0,
        look: Look = "stock",
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        **options: Unpack[EnvOptions],
    ) -> None:
        module = require("teachers.libero.teacher", "libero")
        config = module.LiberoConfig(suite, tuple(cameras), size, frame_hz, look)
        if starts is None:
            chosen = [task] if isinstance(task, (int, str)) else task
            starts = require("teachers.libero.suites", "libero").starts(suite, chosen=chosen)
        super().__init__(
            num_envs,
            teacher=lambda: module.LiberoTeacher(config),
            starts=starts,
            autoreset_mode=autoreset_mode,
            **options,
        )


class LiberoTeacherEnv(ChunkEnv):
    """One episode of LIBERO; arguments as of `LiberoTeacherVectorEnv`."""

    def __init__(self, **options: Any) -> None:
        super().__init__(LiberoTeacherVectorEnv(1, autoreset_mode=AutoresetMode.DISABLED, **options))


class RobosuiteTeacherVectorEnv(TeacherVectorEnv):
    """``num_envs`` episodes of one robosuite task, which share a simulator.

    Args:
        task: such as "Lift".
        starts: names to draw episodes from; None draws training starts.
        options: the others are those of `LiberoTeacherVectorEnv`.
    """

    def __init__(
        self,
        num_envs: int = 1,
        *,
        task: str = "Lift",
        starts: Sequence[str] | None = None,
        cameras: Sequence[str] = ("agentview", "wrist"),
        size: int = 128,
        frame_hz: float = 5.0,
        look: Look = "stock",
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        **options: Unpack[EnvOptions],
    ) -> None:
        module = require("teachers.libero.robosuite", "libero")
        config = module.RobosuiteConfig(task, tuple(cameras), size, frame_hz, look)
        super().__init__(
            num_envs,
            teacher=lambda: module.RobosuiteTeacher(config),
            starts=starts,
            autoreset_mode=autoreset_mode,
            **options,
        )


class RobosuiteTeacherEnv(ChunkEnv):
    """One episode of a robosuite task; arguments as of `RobosuiteTeacherVectorEnv`."""

    def __init__(self, **options: Any) -> None:
        super().__init__(RobosuiteTeacherVectorEnv(1, autoreset_mode=AutoresetMode.DISABLED, **options))
