"""The MuJoCo twin of the Push-T teacher: the `sim` domain beside gym-pusht's `real` one."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from teachers.libero.renderer import Renderer
from teachers.pusht.base import TABLE, TableTeacher
from teachers.pusht.mujoco_world import NUMBERS, MujocoWorld, TablePhysics
from teachers.pusht.physics import STOCK_GOAL
from teachers.teacher import Snapshot
from world_model.errors import InputError
from world_model.rules import settle


@dataclass(frozen=True)
class MujocoPushTConfig:
    """How the twin looks and behaves."""

    size: int = 64
    """Height and width of the frames in pixels."""
    goal: tuple[float, float, float] = STOCK_GOAL
    """Goal pose: px, px, radians."""
    demonstrations: Path | None = None
    """Push-T zarr folder for the "human-" starts; by default looked for in the shared data."""
    physics: TablePhysics = field(default_factory=TablePhysics)
    """How the block answers to pushes."""

    def __post_init__(self) -> None:
        settle(self, TABLE)


class MujocoPushTTeacher(TableTeacher):
    """Push-T with MuJoCo's contacts and pictures, and the contract, starts, labels and state of `PushTTeacher`.

    The pusher moves exactly as there. A snapshot is the ten numbers that the next step depends on.
    """

    kind = "pusht-mujoco"

    def __init__(self, config: MujocoPushTConfig | None = None) -> None:
        self.config = config or MujocoPushTConfig()
        super().__init__(self.config, MujocoWorld(self.config.physics, self.config.goal))
        self.world: MujocoWorld

    def render(self) -> dict[str, NDArray[np.uint8]]:
        """Present frame.

        Raises:
            NoRendererError: this machine cannot draw.
        """
        return {"top": _painter(self.config.goal, self.config.size).paint(self.world)}

    def snapshot(self) -> Snapshot:
        self._require_start("snapshot")
        return {
            "teacher": np.array(self.kind),
            "goal": np.array(self.goal),
            "numbers": self.world.numbers,
        }

    def restore(self, snapshot: Snapshot) -> None:
        self._check_kind(snapshot)
        numbers = np.asarray(snapshot["numbers"], np.float64)
        if numbers.shape != (NUMBERS,) or not np.isfinite(numbers).all():
            raise InputError(f"snapshot holds numbers {numbers.tolist()} but needs {NUMBERS} finite ones; take it anew")
        self.world.numbers = numbers
        self._start = self.world.state

    def branch(self, k: int) -> list[MujocoPushTTeacher]:
        snapshot = self.snapshot()
        branches = [MujocoPushTTeacher(self.config) for _ in range(k)]
        for teacher in branches:
            teacher.restore(snapshot)
        return branches


class _Painter:
    """Draws all worlds of one goal in this process, for a context of each one's own would cost memory and time."""

    def __init__(self, goal: tuple[float, float, float], size: int) -> None:
        self._model, self._size = MujocoWorld(goal=goal).model, size
        self._renderer: Renderer | None = None

    def paint(self, world: MujocoWorld) -> NDArray[np.uint8]:
        if self._renderer is None or self._renderer.closed:
            self._renderer = Renderer(self._model, self._size)
        return self._renderer.render(world.data, self._model.camera("top").id, self._size)


_painter = functools.lru_cache(maxsize=4)(_Painter)
