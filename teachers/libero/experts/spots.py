"""Where the target of a goal's predicate wants an object put."""

from __future__ import annotations

import numpy as np

from teachers.libero.experts.carrying import Niche, Spot
from teachers.libero.experts.geometry import Array
from teachers.libero.experts.scene import TABLES, Scene

GAP = 0.004  # m of air under what is put down
APART = 0.085  # m between things that share a region
FLAT = 0.045  # m: half the height of a niche that a level hand does not reach, so near to the table
NICHES = ("microwave", "wooden_two_layer_shelf")
"""Fixtures whose inside has a roof: things go in from the side."""


def spot(scene: Scene, target: str, share: tuple[int, int] = (0, 1)) -> Spot | Niche:
    """The place of a region, or on top of an object; ``share`` = (i, n) is the i-th of n places on it."""
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
    return Spot(xy, top, top + 0.06)


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
