"""The LIBERO teacher."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from teachers.libero.arm_teacher import ArmTeacher
from teachers.libero.contract import CAMERAS, FRAME_HZ, arm_contract
from teachers.libero.physics import Look, Physics, check_look
from teachers.libero.stage import Stage, stage_for
from teachers.libero.suites import SUITES, parse_start
from teachers.libero.world import LiberoWorld
from world_model.errors import InputError
from world_model.rules import TEXT, follow


@dataclass(frozen=True)
class LiberoConfig:
    """Which suite, and how it is seen."""

    suite: str = "libero_goal"
    cameras: tuple[str, ...] = tuple(CAMERAS)
    """Of "agentview" and "wrist"."""
    size: int = 128
    """Height and width of the frames in pixels."""
    frame_hz: float = FRAME_HZ
    """Frames per second; each takes 20 / frame_hz actions."""
    look: Look = "stock"
    """"fast" draws meshes with fewer faces, in most scenes three to five times as quickly."""


class LiberoTeacher(ArmTeacher):
    """Any task of one LIBERO suite; starts as in `teachers.libero.suites`.

    Raises:
        InputError: an unknown suite, camera or look, or a size or rate that cannot be.
    """

    config: LiberoConfig
    world_type: ClassVar[type[LiberoWorld]] = LiberoWorld

    def __init__(self, config: LiberoConfig | None = None) -> None:
        config = config or LiberoConfig()
        if follow(TEXT, "suite", config.suite) not in SUITES:
            raise InputError(f"there is no LIBERO suite {config.suite!r}; the suites are {', '.join(SUITES)}")
        check_look(config.look)
        super().__init__(config)
        self.contract = arm_contract(
            config.suite, config.suite, config.cameras, config.size, config.frame_hz, config.look
        )

    @property
    def language(self) -> str:
        """The present task in English."""
        return str(self.world.language)

    def _open(self, start: str) -> Stage[Physics]:
        task = parse_start(start).task
        if task.suite != self.config.suite:
            raise InputError(f"start {start!r} is not of {self.config.suite}; make a teacher with suite={task.suite!r}")
        look, world = self.config.look, self.world_type
        return stage_for((world, task.suite, task.index, look), lambda: world(task, look))

    def _begin(self, world: Any, start: str) -> None:
        world.reset(parse_start(start).init)
