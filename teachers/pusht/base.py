"""What the Push-T teachers have in common: contract, starts, labels and state, whatever moves the block."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from teachers.pusht.contract import ARENA, pusht_contract
from teachers.pusht.demonstrations import demonstrations
from teachers.pusht.physics import Pose, PushTState
from teachers.pusht.scoring import LABELS, score
from teachers.pusht.starts import near_goal, parse_start
from teachers.teacher import Snapshot, TeacherObservation, TeacherStep
from world_model.errors import InputError
from world_model.rules import PATH, Number, Rule, Several, Whole, or_none

STATE_NAMES = ("block_x", "block_y", "block_angle", "agent_vx", "agent_vy", "goal_x", "goal_y", "goal_angle")


class TableWorld(Protocol):
    """A pusher and a block on a table, in px and radians."""

    @property
    def state(self) -> PushTState: ...

    @property
    def block_pose(self) -> Pose: ...

    def reset_seed(self, seed: int) -> None: ...

    def reset_state(self, state: PushTState) -> None: ...

    def step(self, target_x: float, target_y: float) -> None: ...


class TableConfig(Protocol):
    """Settings that every Push-T teacher has."""

    @property
    def size(self) -> int: ...

    @property
    def goal(self) -> tuple[float, float, float]: ...

    @property
    def demonstrations(self) -> Path | None: ...


TABLE: Mapping[str, Rule] = {
    "size": Whole(8, 512),
    "goal": Several(Number(-ARENA, 2 * ARENA), 3),
    "demonstrations": or_none(PATH),
}
"""What these settings may be; a goal may lie beside the table."""


class TableTeacher(ABC):
    """A Push-T world under the `Teacher` protocol; what remains is how it is drawn, saved and restored."""

    kind: ClassVar[str]
    """Marks its snapshots."""
    label_names = LABELS
    state_names = STATE_NAMES
    world: TableWorld

    def __init__(self, config: TableConfig, world: TableWorld) -> None:
        self._table = config
        self.contract = pusht_contract(config.size)
        self.goal = Pose(*config.goal)
        self.world = world
        self._start: int | PushTState | None = None  # a gym-pusht seed or an exact state

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
            self._begin(demonstrations(self._table.demonstrations).state(parsed.number, parsed.step))
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

    @property
    def state(self) -> NDArray[np.float64]:
        world = self.world.state
        return np.array([world.block_x, world.block_y, world.angle, world.agent_vx, world.agent_vy, *self.goal])

    @abstractmethod
    def render(self) -> dict[str, NDArray[np.uint8]]: ...

    @abstractmethod
    def snapshot(self) -> Snapshot: ...

    @abstractmethod
    def restore(self, snapshot: Snapshot) -> None: ...

    @abstractmethod
    def branch(self, k: int) -> list[Self]: ...

    def _check_kind(self, snapshot: Snapshot) -> None:
        """Refuse a snapshot of another teacher or with another goal."""
        if str(snapshot.get("teacher")) != self.kind:
            raise InputError(f"snapshot is of teacher {snapshot.get('teacher')}, not of {self.kind}; restore it there")
        if not np.array_equal(snapshot["goal"], self.goal):
            raise InputError(
                f"snapshot has its goal at {snapshot['goal'].tolist()}, this teacher at {list(self.goal)}; "
                "make a teacher with that goal"
            )

    def _begin(self, start: int | PushTState) -> None:
        if isinstance(start, int):
            self.world.reset_seed(start)
        else:
            self.world.reset_state(start)
        self._start = start

    def _advance(self, target: NDArray[np.float32]) -> None:
        self.world.step(float(target[0]), float(target[1]))

    def _require_start(self, verb: str) -> int | PushTState:
        if self._start is None:
            raise InputError(f"the Push-T teacher has no state yet; call reset(start) before {verb}")
        return self._start

    def _observe(self, render: bool) -> TeacherObservation:
        proprio = np.array(self.world.state[:2], np.float32)
        return TeacherObservation(self.render() if render else {}, proprio)
