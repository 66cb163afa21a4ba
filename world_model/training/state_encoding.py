"""How the teacher's state becomes a training target: key points of its bodies, about [-1, 1]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from world_model.errors import DataError


class Encoding(Protocol):
    """Recorded state to a training target of ``dim`` numbers."""

    @property
    def dim(self) -> int: ...

    def encode(self, state: NDArray[np.floating], names: Sequence[str]) -> NDArray[np.float32]:
        """``(..., columns)``, named ``names``, to ``(..., dim)``."""


@dataclass(frozen=True)
class PlanarBody:
    """A rigid body in the plane of the picture: columns of its pose in the teacher's state, and points on it."""

    x: int
    y: int
    angle: int
    points: tuple[tuple[float, float], ...]
    """In the body's own axes, in the unit of x and y."""


@dataclass(frozen=True)
class StateEncoding:
    """Key points of bodies in the plane of the picture.

    ``low`` and ``high`` are the coordinates of the picture's edges; they become -1 and 1.
    """

    bodies: tuple[PlanarBody, ...] = ()
    low: float = 0.0
    high: float = 1.0

    @property
    def dim(self) -> int:
        return 2 * sum(len(b.points) for b in self.bodies)

    def encode(self, state: NDArray[np.floating], names: Sequence[str] = ()) -> NDArray[np.float32]:
        """``(..., columns)`` to ``(..., dim)``: x, y of each point in turn."""
        columns = []
        for body in self.bodies:
            cos, sin = np.cos(state[..., body.angle]), np.sin(state[..., body.angle])
            for px, py in body.points:
                columns.append(state[..., body.x] + cos * px - sin * py)
                columns.append(state[..., body.y] + sin * px + cos * py)
        return ((np.stack(columns, axis=-1) - self.low) / (self.high - self.low) * 2 - 1).astype(np.float32)


ABSENT = (0.0, 0.0, 1.0)
"""Normalised place of what a scene has not: at the top of it, where no object ever is."""


@dataclass(frozen=True)
class SpatialBody:
    """A rigid body in space, recorded as ``<name>_x``, ``_y``, ``_z`` and the rotation's first columns ``_r1`` to 6.

    Where ``<name>_here`` is 0 its points are at `ABSENT`.
    """

    name: str
    points: tuple[tuple[float, float, float], ...] = ((0.0, 0.0, 0.0),)
    """m, in the body's own axes."""


@dataclass(frozen=True)
class Joint:
    """A drawer, door or knob and its range, which becomes -1 to 1."""

    name: str
    low: float
    high: float


@dataclass(frozen=True)
class SceneEncoding:
    """Key points of bodies in space, then joints; ``low`` and ``high`` (m) are the ends of each axis."""

    bodies: tuple[SpatialBody, ...]
    joints: tuple[Joint, ...] = ()
    low: tuple[float, float, float] = (-1.0, -1.0, -1.0)
    high: tuple[float, float, float] = (1.0, 1.0, 1.0)

    @property
    def points(self) -> int:
        return sum(len(b.points) for b in self.bodies)

    @property
    def dim(self) -> int:
        return 3 * self.points + len(self.joints)

    def encode(self, state: NDArray[np.floating], names: Sequence[str]) -> NDArray[np.float32]:
        """``(..., columns)`` to ``(..., dim)``: x, y, z of each point in turn, then the joints.

        Raises:
            DataError: a body or joint was not recorded.
        """
        column = {name: index for index, name in enumerate(names)}
        low, high = np.asarray(self.low), np.asarray(self.high)

        def take(*wanted: str) -> NDArray[np.float64]:
            missing = [name for name in wanted if name not in column]
            if missing:
                raise DataError(
                    f"the data set holds no state {missing[0]!r}, which this recipe learns; record it again"
                )
            return state[..., [column[name] for name in wanted]].astype(np.float64)

        parts = []
        for body in self.bodies:
            place = take(*(f"{body.name}_{axis}" for axis in "xyz"))
            first = take(*(f"{body.name}_r{i}" for i in (1, 2, 3)))
            second = take(*(f"{body.name}_r{i}" for i in (4, 5, 6)))
            axes = np.stack([first, second, np.cross(first, second)], axis=-1)  # (..., 3, 3), columns are the axes
            here = take(f"{body.name}_here") > 0
            points = [(place + axes @ np.asarray(p) - low) / (high - low) * 2 - 1 for p in body.points]
            parts += [np.where(here, point, ABSENT) for point in points]
        for joint in self.joints:
            parts.append((take(joint.name) - joint.low) / (joint.high - joint.low) * 2 - 1)
        return np.concatenate(parts, axis=-1).astype(np.float32)
