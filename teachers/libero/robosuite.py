"""The teacher of robosuite's own one-arm tasks.

A start is "<task>/<seed>": robosuite's placement of the objects drawn from that seed, such as "Lift/12". Splits are by
seed, as everywhere: training below 800,000, validation from there, test from 900,000.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from teachers.libero.arm_teacher import ArmTeacher
from teachers.libero.contract import CAMERAS, CONTROL_HZ, FRAME_HZ, arm_contract
from teachers.libero.physics import Look, Physics, check_look
from teachers.libero.simulator import private, robosuite, seeded
from teachers.libero.stage import Stage, stage_for
from world_model.errors import InputError
from world_model.rules import TEXT, follow

TASKS = (
    "Lift",
    "Stack",
    "Door",
    "NutAssemblySquare",
    "NutAssemblyRound",
    "PickPlaceMilk",
    "PickPlaceBread",
    "PickPlaceCereal",
    "PickPlaceCan",
)
SEEDS = {"train": (0, 800_000), "validation": (800_000, 900_000), "test": (900_000, 1_000_000)}


@dataclass(frozen=True)
class RobosuiteConfig:
    """Which task, and how it is seen; see `teachers.libero.teacher.LiberoConfig`."""

    task: str = "Lift"
    cameras: tuple[str, ...] = tuple(CAMERAS)
    size: int = 128
    frame_hz: float = FRAME_HZ
    look: Look = "stock"


class RobosuiteWorld(Physics):
    """One task of robosuite with a Panda arm."""

    def __init__(self, task: str, look: Look = "stock") -> None:
        suite = robosuite()
        with private(), seeded(0):
            env = suite.make(
                task,
                robots="Panda",
                controller_configs=suite.load_controller_config(default_controller="OSC_POSE"),
                use_camera_obs=False,
                has_renderer=False,
                has_offscreen_renderer=False,
                control_freq=CONTROL_HZ,
                ignore_done=True,
                hard_reset=False,
            )
        super().__init__(env, look)

    def reset(self, seed: int) -> None:
        """Place the objects and the arm as robosuite does, drawn from ``seed``."""
        self.draw(seed)
        self.begin(self.sim.get_state().flatten())


class RobosuiteTeacher(ArmTeacher):
    """One task of robosuite.

    Raises:
        InputError: an unknown task, camera or look, or a size or rate that cannot be.
    """

    config: RobosuiteConfig

    def __init__(self, config: RobosuiteConfig | None = None) -> None:
        config = config or RobosuiteConfig()
        if follow(TEXT, "task", config.task) not in TASKS:
            raise InputError(f"there is no robosuite task {config.task!r} here; the tasks are {', '.join(TASKS)}")
        check_look(config.look)
        super().__init__(config)
        name = f"robosuite_{config.task.lower()}"
        self.contract = arm_contract(name, "robosuite", config.cameras, config.size, config.frame_hz, config.look)

    def _open(self, start: str) -> Stage[Physics]:
        task, look = self.config.task, self.config.look
        self._seed(start)
        return stage_for(("robosuite", task, look), lambda: RobosuiteWorld(task, look))

    def _begin(self, world: Any, start: str) -> None:
        world.reset(self._seed(start))

    def _seed(self, start: str) -> int:
        task, _, seed = start.partition("/")
        if task != self.config.task or not seed.isdecimal() or int(seed) >= SEEDS["test"][1]:
            raise InputError(f"start {start!r} is unknown; use '{self.config.task}/<seed>' with a seed below 1000000")
        return int(seed)
