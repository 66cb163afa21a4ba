"""What makes one future better than another: numbers that are higher for better ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from simforcing_env.planning.world import Array, Imagined
from world_model.errors import InputError
from world_model.extras import require
from world_model.training.recipes_pusht import PUSHT_STATE


class Value(Protocol):
    """Judges frames; higher is better."""

    @property
    def doubt_unit(self) -> float:
        """What a doubt of 1 (root of an expected squared error in [-1, 1]) is in the value's unit, about."""

    def __call__(self, seen: Imagined) -> Array:
        """Values ``(B, K, n)`` of every frame (``(B, K, 1)`` where only the last one is drawn)."""


@dataclass(frozen=True)
class LabelValue:
    """What the heads, or the truth, say: "coverage", "iou", "success", or another label."""

    label: str
    doubt_unit: float = 1.0

    def __call__(self, seen: Imagined) -> Array:
        if self.label == "success":
            return seen.success
        if self.label not in seen.labels:
            known = ", ".join(("success", *seen.labels)) if seen.labels else "none here, for no heads judge the state"
            raise InputError(f"value {self.label!r} is not predicted; there are {known}")
        return seen.labels[self.label]


@dataclass(frozen=True)
class PointValue:
    """Minus the mean distance of key points from where they shall be, in the unit of the picture's edge / ``size``."""

    goal: Array  # (S,) the state to reach: x, y of each point in [-1, 1]
    size: float = 512.0
    read: Callable[[NDArray[np.uint8]], Array] | None = None
    """Reads states ``(N, S)`` from frames ``(N, H, W, 3)``, for worlds that know no state."""

    @property
    def doubt_unit(self) -> float:
        return self.size / 2

    def __call__(self, seen: Imagined) -> Array:
        state = seen.state
        if state is None:
            if seen.frames is None or self.read is None:
                raise InputError("value 'points' needs a world that knows key points, or frames; choose another value")
            flat = seen.frames.reshape(-1, *seen.frames.shape[3:])
            state = self.read(flat).reshape(*seen.frames.shape[:3], -1)
        away = (state - self.goal).reshape(*state.shape[:-1], -1, 2)
        distance: Array = -np.linalg.norm(away, axis=-1).mean(-1) * (self.size / 2)
        return distance


@dataclass(frozen=True)
class GoalImageValue:
    """Minus the mean squared error of pixels (in [0, 1]) to a picture of the goal, as IRASim's real-robot planner."""

    goal: NDArray[np.uint8]  # (H, W, 3)
    doubt_unit: float = 0.01

    def __call__(self, seen: Imagined) -> Array:
        if seen.frames is None:
            raise InputError("value 'goal_image' looks at frames but none are drawn; plan with pictures")
        off = (seen.frames.astype(np.float32) - self.goal.astype(np.float32)) / 255
        error: Array = -np.square(off).mean(axis=(-3, -2, -1))
        return error


def _points() -> Value:
    """Push-T's goal, by the packaged pose reader where there are frames only."""
    from simforcing_env.evaluation.pose_reader import load_reader

    goal = require("teachers.pusht.physics", "pusht").STOCK_GOAL
    reader: list[Any] = []

    def read(frames: NDArray[np.uint8]) -> Array:
        if not reader:
            reader.append(load_reader())
        poses = reader[0].read(frames)
        return PUSHT_STATE.encode(np.concatenate([poses.block, poses.angle[:, None]], axis=1))

    return PointValue(PUSHT_STATE.encode(np.array([goal])[:, :3])[0], read=read)


def _goal_image() -> Value:
    physics = require("teachers.pusht.physics", "pusht")
    teacher = require("teachers.pusht.teacher", "pusht").PushTTeacher()
    # The pusher stands aside, where it hides nothing of the goal.
    seen = teacher.reset_to_state(physics.PushTState(40.0, 472.0, *physics.STOCK_GOAL))
    return GoalImageValue(seen.frames["top"])


MAKERS: Mapping[str, Callable[[], Value]] = MappingProxyType(
    {
        "points": _points,
        "goal_image": _goal_image,
        **{name: lambda name=name: LabelValue(name) for name in ("coverage", "iou", "success")},  # type: ignore[misc]
    }
)
"""Values of Push-T by name."""


def make_value(name: str) -> Value:
    """A value by its name.

    Raises:
        InputError: no such value.
        MissingExtraError: its goal comes from a simulator that is not installed.
    """
    if name not in MAKERS:
        raise InputError(f"there is no value {name!r}; the values are {', '.join(MAKERS)}")
    return MAKERS[name]()
