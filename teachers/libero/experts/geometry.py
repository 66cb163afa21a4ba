"""Rotations, surface points and finger clearance: pure functions of arrays in metres and radians, world frame, z up.

Letters: N points, O obstacle points.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


def up(metres: float) -> Array:
    """Vector ``(3,)`` straight up."""
    return np.array([0.0, 0.0, metres])


def rotation_about_z(angle: float) -> Array:
    """``(3, 3)`` rotation by ``angle`` about the vertical."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def rotation_about(axis: ArrayLike, angle: float) -> Array:
    """``(3, 3)`` rotation by ``angle`` about a unit ``axis`` (Rodrigues)."""
    x, y, z = np.asarray(axis, np.float64)
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + np.sin(angle) * cross + (1.0 - np.cos(angle)) * cross @ cross


def rotation_vector(rotation: ArrayLike) -> Array:
    """Axis times angle ``(3,)`` of a ``(3, 3)`` rotation, angle in [0, pi]."""
    matrix = np.asarray(rotation, np.float64)
    skew = 0.5 * np.array([matrix[2, 1] - matrix[1, 2], matrix[0, 2] - matrix[2, 0], matrix[1, 0] - matrix[0, 1]])
    sine, cosine = float(np.linalg.norm(skew)), float(np.trace(matrix) - 1.0) / 2.0
    if sine > 1e-6:
        return skew / sine * np.arctan2(sine, cosine)
    if cosine > 0:
        return skew
    half = (matrix + np.eye(3)) / 2.0  # a half turn: outer product of the axis with itself
    column = half[:, int(np.argmax(np.diag(half)))]
    return np.pi * column / np.linalg.norm(column)


def frame(z: ArrayLike, x: ArrayLike) -> Array:
    """Rotation ``(3, 3)`` whose third column is ``z`` and whose first is ``x`` made perpendicular to it."""
    third = np.asarray(z, np.float64) / np.linalg.norm(z)
    first = np.asarray(x, np.float64) - np.dot(x, third) * third
    first /= np.linalg.norm(first)
    return np.stack([first, np.cross(third, first), third], axis=1)


def box_points(half: ArrayLike, spacing: float = 0.015) -> Array:
    """Grid ``(N, 3)`` over a box of half sizes ``half``, corners included; at most ``spacing`` apart or 40 a side."""
    lines = [np.linspace(-h, h, int(np.clip(np.ceil(2 * h / spacing) + 1, 2, 40))) for h in np.asarray(half)]
    return np.stack(np.meshgrid(*lines, indexing="ij"), -1).reshape(-1, 3)


def cylinder_points(radius: float, half_height: float) -> Array:
    """Five rings of 24 points ``(120, 3)`` around the z axis, and the two centres of the ends."""
    angle = np.linspace(0.0, 2.0 * np.pi, 24, endpoint=False)
    circle = np.stack([radius * np.cos(angle), radius * np.sin(angle), np.zeros_like(angle)], -1)
    heights = np.linspace(-half_height, half_height, 5)
    rings = [circle + up(height) for height in heights]
    return np.concatenate([*rings, [[0.0, 0.0, heights[0]], [0.0, 0.0, heights[-1]]]])


def ellipsoid_points(radii: ArrayLike) -> Array:
    """The six ends ``(6, 3)`` of the axes."""
    return np.concatenate([np.eye(3), -np.eye(3)]) * np.asarray(radii)


@dataclass(frozen=True)
class Hand:
    """Size of the Panda gripper around its grip site, metres; ``u`` is the way the fingers open."""

    widest: float = 0.072
    """Largest thickness that is taken between the fingers (they open 0.08)."""
    finger_half_thickness: float = 0.016
    finger_half_width: float = 0.014
    finger_below_site: float = 0.012
    palm_half_length: float = 0.11
    palm_half_width: float = 0.04
    palm_above_site: float = 0.045


def blocked(site: ArrayLike, u: ArrayLike, obstacles: ArrayLike, gap: float = 0.047, hand: Hand | None = None) -> int:
    """How many obstacle points ``(O, 3)`` a gripper meets that comes straight down to ``site`` ``(3,)``.

    ``u`` ``(2,)`` is the horizontal unit vector along which the fingers open, ``gap`` the distance of each
    finger's middle from the site.
    """
    size = hand or Hand()
    relative = np.asarray(obstacles, np.float64).reshape(-1, 3) - np.asarray(site)
    x, y = np.asarray(u, np.float64)
    along = np.abs(relative[:, :2] @ np.array([x, y]))
    across = np.abs(relative[:, :2] @ np.array([-y, x]))
    above = relative[:, 2]
    fingers = (np.abs(along - gap) < size.finger_half_thickness) & (across < size.finger_half_width)
    fingers &= above > -size.finger_below_site
    palm = (along < size.palm_half_length) & (across < size.palm_half_width) & (above > size.palm_above_site)
    return int(np.count_nonzero(fingers | palm))


def clearance(start: ArrayLike, end: ArrayLike, obstacles: ArrayLike, radius: float = 0.1) -> float:
    """Height of the highest obstacle point ``(O, 3)`` within ``radius`` of the way seen from above, or -inf."""
    points = np.asarray(obstacles, np.float64).reshape(-1, 3)
    first, way = np.asarray(start)[:2], np.asarray(end)[:2] - np.asarray(start)[:2]
    share = np.clip((points[:, :2] - first) @ way / max(float(way @ way), 1e-12), 0.0, 1.0)
    near = np.linalg.norm(points[:, :2] - first - share[:, None] * way, axis=1) < radius
    return float(points[near, 2].max()) if near.any() else -np.inf


def sidestep(points: ArrayLike, obstacles: ArrayLike, air: float = 0.015, farthest: float = 0.16) -> Array:
    """Shortest horizontal move ``(2,)`` after which a body with ``points`` ``(N, 3)`` can be lifted past all obstacles.

    The body counts as the upright cylinder around it, ``air`` metres stay free; zeros where no move helps.
    """
    body, others = np.asarray(points, np.float64), np.asarray(obstacles, np.float64).reshape(-1, 3)
    middle = (body[:, :2].max(0) + body[:, :2].min(0)) / 2
    radius = float(np.linalg.norm(body[:, :2] - middle, axis=1).max()) + air
    above = others[others[:, 2] > body[:, 2].max(), :2] - middle
    for distance in np.arange(0.0, farthest + 1e-9, 0.02):
        for angle in np.arange(0.0, 2 * np.pi, np.pi / 8):
            move = distance * np.array([np.cos(angle), np.sin(angle)])
            if not len(above) or np.linalg.norm(above - move, axis=1).min() > radius:
                return move
    return np.zeros(2)


def long_side(points: ArrayLike) -> Array:
    """Horizontal unit vector ``(2,)`` along which points ``(N, 3)`` spread most."""
    flat = np.asarray(points, np.float64)[:, :2]
    return np.linalg.eigh(np.cov(flat.T))[1][:, -1]


def turn_between(first: ArrayLike, second: ArrayLike) -> float:
    """Smallest turn about the vertical that lays the line along ``first`` ``(2,)`` on that along ``second``."""
    a, b = np.asarray(first, np.float64), np.asarray(second, np.float64)
    angle = float(np.arctan2(a[0] * b[1] - a[1] * b[0], a @ b))
    return (angle + np.pi / 2) % np.pi - np.pi / 2
