"""The Push-T teacher."""

from __future__ import annotations

from dataclasses import dataclass
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
from world_model.errors import DataError, InputError

STATE_NAMES = ("block_x", "block_y", "block_angle", "agent_vx", "agent_vy", "goal_x", "goal_y", "goal_angle")


@dataclass(frozen=True)
class PushTConfig:
    """How a Push-T teacher looks and where its goal lies."""

    size: int = 64
    """Height and width of the frames in pixels."""
    look: Look = "area"
    """"area" is antialiased; "stock" is gym-pusht's own flickering picture."""
    goal: tuple[float, float, float] = STOCK_GOAL
    """Goal pose: px, px, radians."""
    demonstrations: Path | None = None
    """Push-T zarr folder for the "human-" starts; by default looked for in the shared data."""


class PushTTeacher:
    """gym-pusht's physics under the `Teacher` protocol.

    Chipmunk keeps contact impulses and the order of its collision tree out of reach, so copying bodies is
    not exact while they touch. A snapshot is therefore the start and the actions since: restoring replays
    them (0.03 ms a step), and only those that this teacher has not just done.
    """

    label_names = LABELS
    state_names = STATE_NAMES

    def __init__(self, config: PushTConfig | None = None) -> None:
        self.config = config or PushTConfig()
        self.contract = pusht_contract(self.config.size)
        self.goal = Pose(*self.config.goal)
        self.world = PushTWorld()
        self._renderer: Renderer | None = None
        self._start: int | PushTState | None = None  # a gym-pusht seed or an exact state
        self._actions: list[NDArray[np.float32]] = []  # (2,) px each, since the start

    def reset(self, start: str, render: bool = True) -> TeacherObservation:
        """Go to a named start (see `teachers.pusht.starts`).

        Raises:
            InputError: no such start.
            DataError: a "human-" start without the demonstrations.
        """
        parsed = parse_start(start)
        if parsed.kind == "seed":
            self._begin(parsed.number)
        elif parsed.kind == "near":
            self._begin(near_goal(parsed.number, self.goal))
        else:
            self._begin(demonstrations(self.config.demonstrations).state(parsed.number, parsed.step))
        return self._observe(render)

    def reset_to_state(self, state: PushTState, render: bool = True) -> TeacherObservation:
        """Go to exactly ``state``, with no contact remembered.

        Raises:
            InputError: a number is NaN or infinite.
        """
        if not np.isfinite(state).all():
            raise InputError(f"Push-T state {tuple(state)} has a NaN or infinite number; give finite px and radians")
        self._begin(PushTState(*state))
        return self._observe(render)

    def step(self, actions: NDArray[Any], render: bool = True) -> TeacherStep:
        """Move the pusher towards ``actions`` ``(1, 2)`` px for 0.1 s."""
        target = self.contract.check_actions(actions, ndim=2)
        if len(target) != 1:
            raise InputError(f"Push-T takes 1 action per frame but {len(target)} came; pass an array of shape (1, 2)")
        self._require_start("step")
        self._advance(target[0])
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

    def snapshot(self) -> Snapshot:
        start = self._require_start("snapshot")
        seeded = isinstance(start, int)
        return {
            "teacher": np.array("pusht"),
            "goal": np.array(self.goal),
            "start_seed": np.array(start if seeded else -1),
            "start_state": np.array((np.nan,) * 7 if seeded else start),
            "actions": np.array(self._actions, np.float32).reshape(-1, 2),
            "state": np.array(self.world.state),
        }

    def restore(self, snapshot: Snapshot) -> None:
        if str(snapshot.get("teacher")) != "pusht":
            raise InputError(f"snapshot is of teacher {snapshot.get('teacher')}, not of pusht; restore it there")
        if not np.array_equal(snapshot["goal"], self.goal):
            raise InputError(
                f"snapshot has its goal at {snapshot['goal'].tolist()}, this teacher at {list(self.goal)}; "
                "make a teacher with that goal"
            )
        seed = int(snapshot["start_seed"])
        start = seed if seed >= 0 else PushTState(*map(float, snapshot["start_state"]))
        actions, done = list(snapshot["actions"]), len(self._actions)
        if start != self._start or not np.array_equal(actions[:done], self._actions):
            self._begin(start)
            done = 0
        for target in actions[done:]:
            self._advance(target)
        if not np.array_equal(self.world.state, snapshot["state"]):
            raise DataError(
                "snapshot does not replay to the same state; it was taken with another version of pymunk or gym-pusht"
            )

    def branch(self, k: int) -> list[PushTTeacher]:
        snapshot = self.snapshot()
        branches = [PushTTeacher(self.config) for _ in range(k)]
        for teacher in branches:
            teacher.restore(snapshot)
        return branches

    def _begin(self, start: int | PushTState) -> None:
        if isinstance(start, int):
            self.world.reset_seed(start)
        else:
            self.world.reset_state(start)
        self._start, self._actions = start, []

    def _advance(self, target: NDArray[np.float32]) -> None:
        self.world.step(float(target[0]), float(target[1]))
        self._actions.append(target)

    def _require_start(self, verb: str) -> int | PushTState:
        if self._start is None:
            raise InputError(f"the Push-T teacher has no state yet; call reset(start) before {verb}")
        return self._start

    def _observe(self, render: bool) -> TeacherObservation:
        proprio = np.array(self.world.agent.position, np.float32)
        return TeacherObservation(self.render() if render else {}, proprio)
