"""The Push-T teacher."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from teachers.pusht.base import TABLE, TableTeacher
from teachers.pusht.physics import STOCK_GOAL, PushTState, PushTWorld
from teachers.pusht.render import Look, Renderer
from teachers.teacher import Snapshot
from world_model.errors import DataError
from world_model.rules import Choice, settle


@dataclass(frozen=True)
class PushTConfig:
    """How a Push-T teacher looks and where its goal lies."""

    size: int = 64
    """Height and width of the frames in pixels, 8 to 512."""
    look: Look = "area"
    """"area" is antialiased; "stock" is gym-pusht's own flickering picture."""
    goal: tuple[float, float, float] = STOCK_GOAL
    """Goal pose: px, px, radians."""
    demonstrations: Path | None = None
    """Push-T zarr folder for the "human-" starts; by default looked for in the shared data."""

    def __post_init__(self) -> None:
        settle(self, {**TABLE, "look": Choice(get_args(Look))})


class PushTTeacher(TableTeacher):
    """gym-pusht's physics under the `Teacher` protocol.

    Chipmunk keeps contact impulses and the order of its collision tree out of reach, so copying bodies is
    not exact while they touch. A snapshot is therefore the start and the actions since: restoring replays
    them (0.03 ms a step), and only those that this teacher has not just done.
    """

    kind = "pusht"

    def __init__(self, config: PushTConfig | None = None) -> None:
        self.config = config or PushTConfig()
        super().__init__(self.config, PushTWorld())
        self.world: PushTWorld
        self._renderer: Renderer | None = None
        self._actions: list[NDArray[np.float32]] = []  # (2,) px each, since the start

    def render(self) -> dict[str, NDArray[np.uint8]]:
        if self._renderer is None:
            self._renderer = Renderer(self.goal, self.config.look)
        return {"top": self._renderer.render(self.world, self.config.size)}

    def snapshot(self) -> Snapshot:
        start = self._require_start("snapshot")
        seeded = isinstance(start, int)
        return {
            "teacher": np.array(self.kind),
            "goal": np.array(self.goal),
            "start_seed": np.array(start if seeded else -1),
            "start_state": np.array((np.nan,) * 7 if seeded else start),
            "actions": np.array(self._actions, np.float32).reshape(-1, 2),
            "state": np.array(self.world.state),
        }

    def restore(self, snapshot: Snapshot) -> None:
        self._check_kind(snapshot)
        seed = int(snapshot["start_seed"])
        start = seed if seed >= 0 else PushTState(*map(float, snapshot["start_state"]))
        if not np.isfinite(start).all():
            raise DataError(f"snapshot starts at {start}, which is not finite; it is damaged, take a new one")
        actions, done = list(self.contract.check_actions(snapshot["actions"], 2)), len(self._actions)
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
        super()._begin(start)
        self._actions = []

    def _advance(self, target: NDArray[np.float32]) -> None:
        super()._advance(target)
        self._actions.append(target)
