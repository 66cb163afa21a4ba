"""Where the target of a goal's predicate wants an object put."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from teachers.libero.experts.carrying import Niche, Spot
from teachers.libero.experts.drawers import Drawer
from teachers.libero.experts.geometry import Array, long_side
from teachers.libero.experts.scene import TABLES, Scene

GAP = 0.004  # m of air under what is put down
ROOM = 0.12  # m above a drawer at which a tilted thing passes over its walls
EASY_X, EASY_Y = np.arange(0.45, 0.72, 0.03), np.arange(-0.24, 0.25, 0.03)  # m ahead of and beside the robot
APART = 0.085  # m between things that share a region
FLAT = 0.045  # m: half the height of a niche that a level hand does not reach, so near to the table
NICHES = ("microwave", "wooden_two_layer_shelf")
"""Fixtures whose inside has a roof: things go in from the side."""


def spot(scene: Scene, thing: str, target: str, share: tuple[int, int] = (0, 1)) -> Spot | Niche:
    """The place for ``thing`` in a region or on top of an object; ``share`` = (i, n) is the i-th of n places on it."""
    if not scene.is_region(target):
        return _on_object(scene, target)
    centre, owner = scene.position(target), scene.owner(target)
    if owner in TABLES or owner not in scene.env.obj_body_id:
        return Spot(centre[:2], centre[2] + 0.006, centre[2] + 0.06)
    half = scene.half_size(target)
    if owner.startswith(NICHES) and target.endswith("_region"):
        return _niche(scene, target, centre, half)
    wall = scene.points(owner)[:, 2].max()
    if owner.startswith("basket"):
        return Spot(centre[:2], wall - 0.045, wall + 0.06)
    if owner.startswith("desk_caddy"):
        along = np.array([float(half[0] > half[1]), float(half[0] <= half[1])])
        return Spot(centre[:2], centre[2] - half[2] + 0.02, wall + 0.02, along)
    index, count = share
    xy = centre[:2] + np.array([APART * (index - (count - 1) / 2), 0.0])
    top = centre[2] + half[2] + GAP
    if scene.has_joint(target):
        return _in_drawer(scene, thing, Spot(xy, top, top + 0.06), centre, half)
    return Spot(xy, top, top + 0.06)


def _in_drawer(scene: Scene, thing: str, standing: Spot, centre: Array, half: Array) -> Spot:
    """What would stand too tall in a drawer is laid down in it, and what is long lies along it."""
    points = scene.points(thing)
    lengthwise = np.array([1.0, 0.0, 0.0]) if half[0] > half[1] else np.array([0.0, 1.0, 0.0])
    if scene.position(thing)[2] - points[:, 2].min() > 2 * half[2]:
        away = lengthwise * np.sign(lengthwise @ (centre - scene.foot))
        return replace(standing, floor=centre[2] - half[2] + 2 * GAP, clear=standing.floor + ROOM, tip=away)
    if np.ptp(points[:, :2] @ long_side(points)) > 2 * min(half[:2]):
        return replace(standing, along=lengthwise[:2])
    return standing


def aside(scene: Scene, thing: str, drawer: str) -> Spot:
    """The place on the table farthest from everything and from where a drawer will come out, within easy reach."""
    out = Drawer.of(scene, drawer).out
    front = scene.points(scene.joint_body(scene.joint(drawer)))
    others = np.concatenate([scene.obstacles(thing), *(front + out * way for way in np.arange(0.0, 0.31, 0.03))])
    places = scene.foot[:2] + np.array([[x, y] for x in EASY_X for y in EASY_Y])
    free = np.linalg.norm(places[:, None] - others[None, :, :2], axis=2).min(1)
    table = min(float(scene.points(name)[:, 2].min()) for name in scene.movable)
    return Spot(places[int(free.argmax())], table + GAP, table + 0.1)


def _on_object(scene: Scene, target: str) -> Spot:
    """The middle of a plate, a bowl or the like."""
    centre = scene.position(target)
    points = scene.points(target)
    middle = points[np.linalg.norm(points[:, :2] - centre[:2], axis=1) < 0.04]
    top = middle[:, 2].max() if len(middle) else centre[2]
    return Spot(centre[:2], top + GAP, max(top, points[:, 2].max()) + 0.06)


def _niche(scene: Scene, region: str, centre: Array, half: Array) -> Niche:
    """The side of a region that no wall closes; where several are open, the one nearest to the hand."""
    walls = scene.points(scene.owner(region)) - centre
    walls = walls[np.abs(walls[:, 2]) < 0.6 * half[2]]

    def closed(out: Array) -> tuple[bool, float]:
        across = np.abs(walls @ np.array([-out[1], out[0], 0.0]))
        wall = (across < 0.05) & (walls @ out > 0.03) & (walls @ out < 0.3)
        return bool(wall.any()), -float((scene.hand - centre) @ out)

    sides = scene.rotation(scene.owner(region))[:, :2].T
    out = min([*sides, *-sides], key=closed)
    depth = min(float(np.abs(half @ out)), 0.05)
    tilt = np.pi / 4 if half[2] < FLAT else np.pi / 2
    depth = 0.02 if half[2] < FLAT else depth  # a slanting object goes no deeper
    return Niche(centre + out * (float(np.abs(half @ out)) - depth), -out, depth, tilt)
