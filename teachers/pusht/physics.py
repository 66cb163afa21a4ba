"""The Push-T world itself: gym-pusht's bodies, stepped without its rendering and scoring."""

from __future__ import annotations

import math
from typing import NamedTuple

import pymunk
from gym_pusht.envs.pusht import PushTEnv

STIFFNESS, DAMPING = 100.0, 20.0  # of the controller that pulls the pusher to its target, 1/s^2 and 1/s
TIME_STEP = 0.01  # s
SUBSTEPS = 10  # per control step of 0.1 s


class Pose(NamedTuple):
    """Position of the block's or goal's origin in px and its angle in radians (not wrapped)."""

    x: float
    y: float
    angle: float


STOCK_GOAL = Pose(256.0, 256.0, math.pi / 4)


class PushTState(NamedTuple):
    """Everything that is visible of the world: px, px/s, radians."""

    agent_x: float
    agent_y: float
    block_x: float
    block_y: float
    angle: float
    agent_vx: float = 0.0
    agent_vy: float = 0.0


class PushTWorld:
    """One pymunk space with walls, pusher and block, equal bit for bit to gym-pusht's."""

    def __init__(self) -> None:
        self._stock = PushTEnv(obs_type="state")
        self._stock._setup()

    @property
    def space(self) -> pymunk.Space:
        return self._stock.space

    @property
    def agent(self) -> pymunk.Body:
        return self._stock.agent

    @property
    def block(self) -> pymunk.Body:
        return self._stock.block

    @property
    def block_shapes(self) -> list[pymunk.Poly]:
        return self._stock._block_shapes

    def reset_seed(self, seed: int) -> None:
        """Start as ``gym_pusht`` does after ``reset(seed=seed)``, quirks of its placing included."""
        self._stock.reset(seed=seed)
        self._drop_contact_counter()

    def reset_state(self, state: PushTState) -> None:
        """Start in exactly ``state``: gym-pusht's own option shifts the block and runs a substep."""
        self._stock._setup()
        self._drop_contact_counter()
        self.agent.position = (state.agent_x, state.agent_y)
        self.agent.velocity = (state.agent_vx, state.agent_vy)
        self.block.angle = state.angle  # first: turning about the centre of gravity moves the origin
        self.block.position = (state.block_x, state.block_y)
        self.space.reindex_shapes_for_body(self.agent)
        self.space.reindex_shapes_for_body(self.block)

    @property
    def state(self) -> PushTState:
        (ax, ay), (bx, by), (vx, vy) = self.agent.position, self.block.position, self.agent.velocity
        return PushTState(ax, ay, bx, by, self.block.angle, vx, vy)

    @property
    def block_pose(self) -> Pose:
        x, y = self.block.position
        return Pose(x, y, self.block.angle)

    def step(self, target_x: float, target_y: float) -> None:
        """One control step of 0.1 s towards a target in px."""
        agent, space = self.agent, self.space
        for _ in range(SUBSTEPS):
            (x, y), (vx, vy) = agent.position, agent.velocity
            # The order of operations is gym-pusht's, so that results are bit-equal.
            ax = STIFFNESS * (target_x - x) + DAMPING * (0.0 - vx)
            ay = STIFFNESS * (target_y - y) + DAMPING * (0.0 - vy)
            agent.velocity = (vx + ax * TIME_STEP, vy + ay * TIME_STEP)
            space.step(TIME_STEP)

    def _drop_contact_counter(self) -> None:
        """gym-pusht counts contacts in a Python callback at every substep; nothing here reads it."""
        self._stock.collision_handeler.post_solve = lambda arbiter, space, data: None
