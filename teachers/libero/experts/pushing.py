"""Flat things that lie on the table are dragged by their rim, with the closed fingers inside."""

from __future__ import annotations

import numpy as np

from teachers.libero.experts.geometry import Array, up
from teachers.libero.experts.motion import CLOSE, Actions, Arm, Tolerance


def drag(arm: Arm, name: str, goal: Array) -> Actions:
    """Move a plate until its middle lies over ``goal`` ``(2,)``."""
    scene = arm.scene
    height = scene.points(name)[:, 2].min() + 0.011
    centre = arm.blur([*scene.position(name)[:2], height], 0.2)
    yield from arm.go(centre + up(0.12), arm.rest, CLOSE, Tolerance(0.02, steps=70))
    yield from arm.go(centre, arm.rest, CLOSE, Tolerance(steps=40), speed=0.6)
    for _ in range(150):
        left = goal + arm.bias[:2] - scene.position(name)[:2]
        distance = float(np.linalg.norm(left))
        if distance < 0.012:
            break
        # The fingers belong on the far side of the middle, seen along the way.
        lead = scene.position(name)[:2] + left / distance * min(0.12, 0.05 + distance)
        move = lead - scene.hand[:2]
        move *= min(1.0, 0.02 / (float(np.linalg.norm(move)) + 1e-9))
        yield arm.towards([*(scene.hand[:2] + move), height], arm.rest, CLOSE)
    yield from arm.rise(0.12, CLOSE)
