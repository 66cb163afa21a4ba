"""Drawers: opened by the handle with the hand level, closed by pushing it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from teachers.libero.experts.geometry import Array, frame, rotation_vector, up
from teachers.libero.experts.motion import CLOSE, KEEP, OPEN, Actions, Arm, Tolerance
from teachers.libero.experts.scene import Scene

FRONT = 0.068  # m from the handle's outer side to fingers behind the drawer's front
ROOM = 0.06  # m that a drawer must be out for fingers to come in behind its front
LOW = 0.09  # m above the foot of the cabinet: a level hand would meet the table


@dataclass(frozen=True)
class Drawer:
    """A drawer now: its joint, the unit vector ``(3,)`` it opens along, its handle's middle, the ends of its way."""

    joint: int
    out: Array
    handle: Array
    open_at: float  # joint value to open it to
    shut_at: float  # joint value at which it counts as shut
    sign: float  # of the joint value when open

    @classmethod
    def of(cls, scene: Scene, region: str) -> Drawer:
        """Read the drawer of a region."""
        joint = scene.joint(region)
        ranges = scene.articulation(region)
        opened = ranges["default_open_ranges"]
        sign = float(np.sign(np.mean(opened)))
        out = scene.joint_axis(joint) * sign
        points = scene.points(scene.joint_body(joint))
        reach = points @ out
        bar = points[reach > reach.max() - 0.012]
        shut_at = sign * max(sign * value for value in ranges["default_close_ranges"])
        return cls(joint, out, (bar.max(0) + bar.min(0)) / 2, float(np.mean(opened)), shut_at, sign)


def level(arm: Arm, out: Array) -> Array:
    """Hand rotation ``(3, 3)`` that points along ``-out``, fingers one above the other; the nearer of both rolls."""
    rolls = [frame(-out, (0.0, 0.0, sign)) for sign in (1.0, -1.0)]
    return min(rolls, key=lambda roll: float(np.linalg.norm(rotation_vector(roll @ arm.rest.T))))


def slanted(arm: Arm, out: Array) -> Array:
    """Hand rotation ``(3, 3)`` that points down and along ``-out``, fingers abreast: the palm stays above a table."""
    side = np.cross([0.0, 0.0, 1.0], out)
    turns = [frame(-out - up(1.0), sign * side) for sign in (1.0, -1.0)]
    return min(turns, key=lambda turn: float(np.linalg.norm(rotation_vector(turn @ arm.rest.T))))


def open_drawer(arm: Arm, region: str) -> Actions:
    """Pull a drawer out by its handle and leave it."""
    scene = arm.scene
    drawer = Drawer.of(scene, region)
    out, handle = drawer.out, arm.blur(drawer.handle, 0.2)
    turn = level(arm, out)
    front = handle + out * 0.11
    yield from arm.travel(front + up(0.12), turn, OPEN)
    yield from arm.go(front, turn, OPEN, Tolerance(0.012, 0.1, 50))
    yield from arm.hold(front, turn, CLOSE, 4)  # half shut, the fingers pass between neighbouring handles
    yield from arm.go(handle - out * 0.004, turn, KEEP, Tolerance(0.005, steps=50), speed=0.6)
    start = scene.hand
    yield from arm.hold(start, turn, CLOSE, 8)
    for _ in range(60):
        if drawer.sign * scene.joint_value(drawer.joint) > abs(drawer.open_at) + 0.004:
            break
        across = (start - scene.hand) * (1.0 - np.abs(out))
        yield arm.towards(scene.hand + out * 0.035 + across, turn, CLOSE)
    yield from arm.hold(scene.hand, turn, OPEN, 6)
    yield from _leave(arm, out, turn, OPEN)
    left = abs(drawer.open_at) - drawer.sign * scene.joint_value(drawer.joint)
    if 0.0 < left < abs(drawer.open_at) - ROOM:
        yield from _push_out(arm, region)


def _push_out(arm: Arm, region: str) -> Actions:
    """Open a drawer that stands ajar the rest of the way: closed fingers behind its front, hand upright."""
    scene = arm.scene
    drawer = Drawer.of(scene, region)
    height = scene.points(scene.joint_body(drawer.joint))[:, 2].max() - 0.02
    behind = drawer.handle - drawer.out * FRONT
    site = np.array([behind[0], behind[1], height])
    yield from arm.travel(site + up(0.1), arm.rest, CLOSE)
    yield from arm.go(site, arm.rest, CLOSE, Tolerance(steps=40), speed=0.7)
    for _ in range(40):
        if drawer.sign * scene.joint_value(drawer.joint) > abs(drawer.open_at):
            break
        across = (site - scene.hand) * (1.0 - np.abs(drawer.out))
        yield arm.towards(scene.hand + drawer.out * 0.035 + across, arm.rest, CLOSE)
    yield from arm.rise(0.15, CLOSE)


def close_drawer(arm: Arm, region: str) -> Actions:
    """Push a drawer shut with the closed fingers."""
    scene = arm.scene
    drawer = Drawer.of(scene, region)
    out, handle = drawer.out, arm.blur(drawer.handle, 0.2) + up(0.005)
    floor = scene.points(scene.owner(region))[:, 2].min()
    turn = slanted(arm, out) if handle[2] - floor < LOW else level(arm, out)
    front = handle + out * 0.07
    yield from arm.travel(front + out * 0.05 + up(0.15), turn, CLOSE)
    yield from arm.go(front, turn, CLOSE, Tolerance(0.015, 0.15, 40))
    for _ in range(80):
        if drawer.sign * scene.joint_value(drawer.joint) < drawer.sign * drawer.shut_at - 0.001:
            break
        across = (handle - scene.hand) * (1.0 - np.abs(out))
        yield arm.towards(scene.hand - out * 0.045 + across, turn, CLOSE)
    yield from _leave(arm, out, turn, CLOSE)


def _leave(arm: Arm, out: Array, turn: Array, gripper: float) -> Actions:
    """Back, up past the handles, and straight down again with the hand, clear of the cabinet."""
    yield from arm.go(arm.scene.hand + out * 0.08, turn, gripper, Tolerance(0.02, steps=25))
    yield from arm.rise(0.2, gripper, turn)
    yield from arm.go(arm.scene.hand, arm.rest, gripper, Tolerance(0.04, 0.3, 30))
