"""Push-T in MuJoCo: a planar T on a table that stops it at once, and gym-pusht's pusher.

The table is quasi-static as gym-pusht's: the block loses its velocity between substeps, so that it goes where it is
pushed and rests when it is not. MuJoCo finds the contacts and their forces; the pusher follows its law exactly, for it
is infinitely heavy in gym-pusht. 1 px is 1 mm; MuJoCo's y axis points up where the picture's points down.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from teachers.pusht.mujoco_scene import METRE, scene
from teachers.pusht.physics import DAMPING, STIFFNESS, STOCK_GOAL, SUBSTEPS, TIME_STEP, Pose, PushTState, PushTWorld
from teachers.pusht.scoring import CENTRE

NUMBERS = 10
"""Of a complete state: pusher x, y, vx, vy in px; then the block's joints and their velocities in m and rad."""


@dataclass(frozen=True)
class TablePhysics:
    """How the block answers to pushes; tuned on training starts to part least from gym-pusht."""

    gyration: float = 54.77
    """Radius of gyration of the block in px: how hard it is to turn."""
    kept: float = 0.0
    """Share of its velocity that the block keeps from one substep of 10 ms to the next; 0: the table stops it."""
    friction: float = 0.0
    """Coulomb friction between pusher, block and walls."""
    correction: float = 0.058
    """Share of an overlap of pusher and block that is undone in a substep."""


class MujocoWorld:
    """One table; its state is ten numbers, and equal numbers go on equally bit for bit."""

    def __init__(self, physics: TablePhysics | None = None, goal: tuple[float, float, float] = STOCK_GOAL) -> None:
        self.physics = physics or TablePhysics()
        p = self.physics
        self.model: Any = mujoco.MjModel.from_xml_string(scene(Pose(*goal), p.gyration, p.friction, p.correction))
        self.data: Any = mujoco.MjData(self.model)
        self._pusher = np.zeros(4)  # px, px/s
        self._stock: PushTWorld | None = None

    def reset_seed(self, seed: int) -> None:
        """Start where gym-pusht's ``reset(seed=seed)`` does."""
        if self._stock is None:
            self._stock = PushTWorld()
        self._stock.reset_seed(seed)
        self.reset_state(self._stock.state)

    def reset_state(self, state: PushTState) -> None:
        """Start in exactly ``state``, the block at rest."""
        cos, sin = math.cos(state.angle), math.sin(state.angle)
        centre = state.block_x - sin * CENTRE[1], state.block_y + cos * CENTRE[1]
        block = (centre[0] / METRE, -centre[1] / METRE, -state.angle, 0.0, 0.0, 0.0)
        self.numbers = np.array([state.agent_x, state.agent_y, state.agent_vx, state.agent_vy, *block])

    @property
    def numbers(self) -> NDArray[np.float64]:
        """The complete state ``(10,)``."""
        return np.concatenate([self._pusher, self.data.qpos[2:], self.data.qvel[2:]])

    @numbers.setter
    def numbers(self, values: NDArray[np.float64]) -> None:
        mujoco.mj_resetData(self.model, self.data)
        self._pusher = np.array(values[:4], np.float64)
        self.data.qpos[2:], self.data.qvel[2:] = values[4:7], values[7:]
        self._place_pusher()
        self._show()

    @property
    def state(self) -> PushTState:
        x, y, vx, vy = self._pusher.tolist()
        return PushTState(x, y, *self.block_pose, vx, vy)

    @property
    def block_pose(self) -> Pose:
        x, y, angle = self.data.qpos[2:].tolist()
        x, y, angle = x * METRE, -y * METRE, -angle
        return Pose(x + math.sin(angle) * CENTRE[1], y - math.cos(angle) * CENTRE[1], angle)

    def step(self, target_x: float, target_y: float) -> None:
        """One control step of 0.1 s towards a target in px."""
        data, target = self.data, np.array([target_x, target_y])
        for _ in range(SUBSTEPS):
            place, velocity = self._pusher[:2], self._pusher[2:]
            acceleration = STIFFNESS * (target - place) + DAMPING * (0.0 - velocity)
            velocity += acceleration * TIME_STEP
            place += velocity * TIME_STEP
            self._place_pusher()
            data.qpos[2:] += data.qvel[2:] * TIME_STEP
            data.qvel[2:] *= self.physics.kept
            mujoco.mj_forward(self.model, data)
            data.qvel[2:] += data.qacc[2:] * TIME_STEP
        self._show()

    def _place_pusher(self) -> None:
        x, y, vx, vy = self._pusher / METRE
        self.data.qpos[:2], self.data.qvel[:2] = (x, -y), (vx, -vy)

    def _show(self) -> None:
        """Put what is drawn where the state says."""
        mujoco.mj_kinematics(self.model, self.data)
        mujoco.mj_comPos(self.model, self.data)
        mujoco.mj_camlight(self.model, self.data)
