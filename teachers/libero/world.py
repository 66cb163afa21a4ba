"""A LIBERO task as a simulator: reset, control steps without rendering, exact save and restore, pictures on demand."""

from __future__ import annotations

from typing import Self

import numpy as np

from teachers.libero.physics import Look, Physics
from teachers.libero.simulator import libero, private, robosuite, seeded
from teachers.libero.suites import INITS, Task, find_task, initial_states
from world_model.errors import InputError

SETTLING = 10  # control steps in which a start's objects fall the last centimetres onto the table
REST = np.array([0, 0, 0, 0, 0, 0, -1.0])  # stay, gripper open


class LiberoWorld(Physics):
    """One task's scene and robot.

    Args:
        task: from `find_task`.
        look: "fast" draws meshes with fewer faces.
    """

    def __init__(self, task: Task, look: Look = "stock") -> None:
        self.task = task
        envs = libero("envs")
        with private(), seeded(0):
            config = robosuite().load_controller_config(default_controller="OSC_POSE")
            problem = libero("envs.bddl_utils").get_problem_info(str(task.bddl))["problem_name"]
            env = envs.TASK_MAPPING[problem](
                str(task.bddl),
                robots=["Panda"],
                controller_configs=config,
                initialization_noise=None,
                use_camera_obs=False,
                has_renderer=False,
                has_offscreen_renderer=False,
                control_freq=20,
                ignore_done=True,
                hard_reset=False,
            )
        super().__init__(env, look)

    @classmethod
    def open(cls, suite: str, task: int | str, look: Look = "stock") -> Self:
        """The world of a suite's task, given by number or name.

        Raises:
            InputError: there is no such suite or task.
            MissingExtraError: the "libero" extra is not installed.
        """
        return cls(find_task(suite, task), look)

    @property
    def language(self) -> str:
        """The task in English."""
        return self.task.language

    def reset(self, init_id: int, settle: bool = True) -> None:
        """Go to a recorded initial state and let its objects come to rest.

        The pose of fixtures (cabinet, stove) is not in the recorded states; LIBERO draws it, here from ``init_id``.

        Raises:
            InputError: there is no such initial state.
        """
        if not 0 <= init_id < INITS:
            raise InputError(f"there is no initial state {init_id}; they are numbered 0 to {INITS - 1}")
        self.draw(init_id)
        self.begin(initial_states(self.task)[init_id])
        for _ in range(SETTLING if settle else 0):
            self.step(REST)
