"""Where the target of a goal's predicate wants an object put."""

from __future__ import annotations

import numpy as np

from teachers.libero.experts.carrying import Spot
from teachers.libero.experts.scene import TABLES, Scene

GAP = 0.004  # m of air under what is put down


def spot(scene: Scene, target: str) -> Spot:
    """The spot of a region, or of the top of an object."""
    centre = scene.position(target)
    if not scene.is_region(target):
        return _on_object(scene, target)
    owner = scene.owner(target)
    if owner in TABLES or owner not in scene.env.obj_body_id:
        return Spot(centre[:2], centre[2] + 0.006, centre[2] + 0.06)
    if owner.startswith("basket"):
        wall = scene.points(owner)[:, 2].max()
        return Spot(centre[:2], wall - 0.045, wall + 0.06)
    top = centre[2] + scene.half_size(target)[2] + GAP
    return Spot(centre[:2], top, top + 0.06)


def _on_object(scene: Scene, target: str) -> Spot:
    """The middle of a plate, a bowl or the like."""
    centre = scene.position(target)
    points = scene.points(target)
    middle = points[np.linalg.norm(points[:, :2] - centre[:2], axis=1) < 0.04]
    top = middle[:, 2].max() if len(middle) else centre[2]
    return Spot(centre[:2], top + GAP, max(top, points[:, 2].max()) + 0.06)
