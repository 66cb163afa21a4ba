"""True simulators as Gymnasium environments, with the spaces, infos and chunks of the learned ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Unpack

from gymnasium.vector import AutoresetMode

from simforcing_env.chunk_env import ChunkVectorEnv
from simforcing_env.config import EnvConfig, EnvOptions
from simforcing_env.single_env import ChunkEnv
from simforcing_env.teacher_backend import TeacherBackend
from teachers.registry import make_teacher
from teachers.teacher import Teacher


class TeacherVectorEnv(ChunkVectorEnv):
    """``num_envs`` true simulators, stepped one after another in this process.

    Args:
        teacher: name of a world ("pusht"), or a function that makes a teacher.
        starts: names to draw episodes from, such as those that a checkpoint ships; None draws training starts.
        autoreset_mode: an `AutoresetMode` or its value.
        options: see `EnvConfig`; without ``frames_in_info`` only observations are rendered, so chunks are quicker.

    Raises:
        MissingExtraError: the simulator is not installed.
    """

    def __init__(
        self,
        num_envs: int = 1,
        *,
        teacher: str | Callable[[], Teacher] = "pusht",
        starts: Sequence[str] | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        **options: Unpack[EnvOptions],
    ) -> None:
        config = EnvConfig.of(autoreset_mode, **options)
        made = [make_teacher(teacher) if isinstance(teacher, str) else teacher() for _ in range(max(num_envs, 1))]
        every_frame = config.frames_in_info or config.render_mode == "rgb_array_list"
        super().__init__(TeacherBackend(made, starts, every_frame), num_envs, config)


class TeacherEnv(ChunkEnv):
    """One true simulator; arguments as of `TeacherVectorEnv`."""

    def __init__(
        self,
        *,
        teacher: str | Callable[[], Teacher] = "pusht",
        starts: Sequence[str] | None = None,
        **options: Unpack[EnvOptions],
    ) -> None:
        mode = AutoresetMode.DISABLED
        super().__init__(TeacherVectorEnv(1, teacher=teacher, starts=starts, autoreset_mode=mode, **options))
