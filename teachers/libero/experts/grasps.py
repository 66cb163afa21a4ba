"""Where to hold an object: candidate top-down grasps from its surface points, best first. Pure.

Three kinds: the ``whole`` object between the fingers, else a ``part`` of it (a handle, a wall, a spine)
or the ``rim`` of something hollow, one finger inside.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from teachers.libero.experts.geometry import Array, Hand, blocked, rotation_about_z

YAWS = np.deg2rad(np.arange(-90, 90, 5))  # a gripper that is turned by half a turn is the same gripper
CROWD = 40  # obstacle points beyond which a grasp is no worse
STRETCHED = 0.74  # m from the robot's foot at which an upright hand has its elbow straight; it hardly comes back


@dataclass(frozen=True)
class Grasp:
    """A place for the grip site ``(3,)`` m, the gripper's turn from its rest pose, and how unwilling we are."""

    site: Array
    yaw: float
    kind: Literal["whole", "part", "rim"]
    cost: float

    def far_from(self, other: Grasp) -> bool:
        """Different enough to be worth a try after ``other`` has failed."""
        moved = float(np.linalg.norm(self.site - other.site))
        return moved > 0.02 or abs(self.yaw - other.yaw) > 0.3


def plan_grasps(points: Array, obstacles: Array, finger_axis: Array, here: Array, foot: Array) -> list[Grasp]:
    """Grasps of the object with surface ``points`` ``(N, 3)``, cheapest first; may be empty.

    ``obstacles`` ``(O, 3)`` are points of everything else, ``finger_axis`` ``(3,)`` the way the fingers open
    at yaw 0, ``here`` ``(3,)`` the present place of the grip site, ``foot`` ``(3,)`` where the robot stands.
    """
    found = list(_whole(points, obstacles, finger_axis))
    if not found:
        found = [*_rim(points, obstacles, finger_axis, here), *_part(points, obstacles, finger_axis)]

    def cost(grasp: Grasp) -> float:
        return grasp.cost + 10 * max(0.0, float(np.linalg.norm((grasp.site - foot)[:2])) - STRETCHED)

    return sorted(found, key=cost)


def _axes(finger_axis: Array, yaw: float) -> tuple[Array, Array]:
    """Horizontal unit vectors ``(2,)`` along which the fingers open, and across."""
    u = (rotation_about_z(yaw) @ finger_axis)[:2]
    u = u / np.linalg.norm(u)
    return u, np.array([-u[1], u[0]])


def _crowding(site: Array, u: Array, obstacles: Array, gap: float) -> float:
    return 0.1 * min(blocked(site, u, obstacles, gap), CROWD)


def _whole(points: Array, obstacles: Array, finger_axis: Array) -> Iterator[Grasp]:
    top, bottom = points[:, 2].max(), points[:, 2].min()
    height = max(top - 0.035, bottom + 0.012)  # finger tips reach a centimetre below the site
    slab = points[points[:, 2] > height - 0.02]
    slab = points if len(slab) < 8 else slab
    for yaw in YAWS:
        u, v = _axes(finger_axis, yaw)
        along, across = slab[:, :2] @ u, slab[:, :2] @ v
        width = float(np.ptp(along))
        if width > Hand.widest:
            continue
        middle = u * (along.max() + along.min()) / 2 + v * (across.max() + across.min()) / 2
        site = np.array([*middle, height])
        yield Grasp(site, float(yaw), "whole", _crowding(site, u, obstacles, 0.047) + 10 * width + 0.15 * abs(yaw))


def _rim(points: Array, obstacles: Array, finger_axis: Array, here: Array) -> Iterator[Grasp]:
    top, bottom = points[:, 2].max(), points[:, 2].min()
    rim = points[points[:, 2] > top - 0.012]
    middle = (rim[:, :2].max(0) + rim[:, :2].min(0)) / 2
    hollow = np.linalg.norm(rim[:, :2] - middle, axis=1).min() > 0.015
    if top - bottom < 0.03 or np.ptp(rim[:, :2], axis=0).min() < 0.05 or not hollow:
        return
    height = max(top - 0.030, bottom + 0.012)
    for yaw in np.deg2rad(np.arange(-90, 90, 10)):
        for u in (_axes(finger_axis, yaw)[0], -_axes(finger_axis, yaw)[0]):
            offset = rim[:, :2] - middle
            near = offset[(np.abs(offset @ np.array([-u[1], u[0]])) < 0.015) & (offset @ u > 0)]
            if not len(near):
                continue
            site = np.array([*(middle + u * ((near @ u).max() - 0.006)), height])
            reach = 0.5 * float(np.linalg.norm(site[:2] - here[:2]))
            yield Grasp(site, float(yaw), "rim", _crowding(site, u, obstacles, 0.037) + 0.15 * abs(yaw) + reach)


def _part(points: Array, obstacles: Array, finger_axis: Array) -> Iterator[Grasp]:
    """Local grasps: the fingers pass free of the object itself and have some of it between them."""
    centre = (points.max(0) + points.min(0)) / 2
    cells = np.unique(np.round(points[:, :2] / 0.012).astype(int), axis=0) * 0.012
    for yaw in np.deg2rad(np.arange(-90, 90, 15)):
        u, v = _axes(finger_axis, yaw)
        for cell in cells:
            offset = points[:, :2] - cell
            strip = (np.abs(offset @ v) < Hand.finger_half_width) & (np.abs(offset @ u) < 0.04)
            if np.count_nonzero(strip) < 4:
                continue
            column = points[strip]
            top = column[:, 2].max()
            height = max(top - 0.025, points[:, 2].min() + 0.012)
            held = column[column[:, 2] > height - 0.012]
            along = (held[:, :2] - cell) @ u
            width = float(np.ptp(along))
            if len(held) < 3 or width > 0.045:
                continue
            site = np.array([*(cell + u * (along.max() + along.min()) / 2), height])
            if blocked(site, u, points, 0.047):
                continue
            lever = float(np.linalg.norm(site[:2] - centre[:2]))
            cost = _crowding(site, u, obstacles, 0.047) + 0.15 * abs(yaw) + 5 * lever + 0.2
            yield Grasp(site, float(yaw), "part", cost)
