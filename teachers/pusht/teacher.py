"""The Push-T teacher."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from teachers.pusht.contract import pusht_contract
from teachers.pusht.demonstrations import demonstrations
from teachers.pusht.physics import STOCK_GOAL, Pose, PushTState, PushTWorld
from teachers.pusht.render import Look, Renderer
from teachers.pusht.scoring import LABELS, score
from teachers.pusht.starts import near_goal, parse_start
from teachers.teacher import Snapshot, TeacherObservation, TeacherStep
from world_model.errors import InputError

STATE_NAMES = ("block_x", "block_y", "block_angle", "agent_vx", "agent_vy", "goal_x", "goal_y", "goal_angle")


@dataclass(frozen=True)
class PushTConfig:
    """How a Push-T teacher looks and where its goal lies."""

    size: int = 64
    """Height and width of the frames in pixels."""
    look: Look = "area"
    """"area" is antialiased; "stock" is gym-pusht's own flickering picture."""
    goal: Pose = field(default=STOCK_GOAL)
    """Goal pose: px, px, radians."""
    demonstrations: Path | None = None
    """Push-T zarr folder for the "human-" starts; by default looked for in the shared data."""


class PushTTeacher:
    """gym-pusht's physics under the `Teacher` protocol."""

    label_names = LABELS
    state_names = STATE_NAMES

    def __init__(self, config: PushTConfig | None = None) -> None:
        self.config = config or PushTConfig()
        self.contract = pusht_contract(self.config.size)
        self.goal = self.config.goal
        self.world = PushTWorld()
        self._renderer: Renderer | None = None
        self._start: str | PushTState | None = None
        self._actions: list[NDArray[np.float32]] = []

    def reset(self, start: str, render: bool = True) -> TeacherObservation:
        """Go to a named start (see `teachers.pusht.starts`)."""
        parsed = parse_start(start)
        if parsed.kind == "seed":
            self.world.reset_seed(parsed.number)
        elif parsed.kind == "near":
            self.world.reset_state(near_goal(parsed.number, self.goal))
        else:
            human = demonstrations(self.config.demonstrations)
            self.world.reset_state(human.state(parsed.number, parsed.step))
        self._start, self._actions = start, []
        return self._observe(render)

    def reset_to_state(self, state: PushTState, render: bool = True) -> TeacherObservation:
        """Go to exactly ``state``, with no contact remembered."""
        self.world.reset_state(state)
        self._start, self._actions = state, []
        return self._observe(render)

    def step(self, actions: NDArray[Any], render: bool = True) -> TeacherStep:
        """Move the pusher towards ``actions`` ``(1, 2)`` px for 0.1 s."""
        target = self.contract.check_actions(actions, ndim=2)
        if target.shape[0] != 1:
            raise InputError(f"Push-T takes 1 action per frame but {target.shape[0]} came; pass an array of shape (1, 2)")
        if self._start is None:
            raise InputError("the Push-T teacher has no state yet; call reset(start) before step")
        self.world.step(float(target[0, 0]), float(target[0, 1]))
        self._actions.append(target[0])
        return TeacherStep(self._observe(render), self.labels())

    def labels(self) -> dict[str, float]:
        return score(self.world.block_pose, self.goal)

    def render(self) -> dict[str, NDArray[np.uint8]]:
        if self._renderer is None:
            self._renderer = Renderer(self.goal, self.config.look)
        return {"top": self._renderer.render(self.world, self.config.size)}

    @property
    def state(self) -> NDArray[np.float64]:
        world = self.world.state
        return np.array([world.block_x, world.block_y, world.angle, world.agent_vx, world.agent_vy, *self.goal])

    def _observe(self, render: bool) -> TeacherObservation:
        proprio = np.array(self.world.agent.position, np.float32)
        return TeacherObservation(self.render() if render else {}, proprio)
