"""Hinged doors (the microwave): pulled ajar by the handle, then pushed along their arc from within or without."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from teachers.libero.experts.geometry import Array, frame, rotation_about_z, up
from teachers.libero.experts.motion import CLOSE, OPEN, Actions, Arm, Tolerance
from teachers.libero.experts.scene import Scene

SLANT = 2.2  # of the hand at the handle, downwards for one metre ahead: a level hand is at the end of its joints
AJAR = 0.7  # rad: wide enough for the fingers to come in behind
LEAD = 0.25  # rad that the fingers are ahead of the door when they push
DEPTH = 0.045  # m that the finger tips reach below the door's upper edge
STANDOFF = 0.035  # m between the door's middle plane and the fingers before they touch


@dataclass(frozen=True)
class Door:
    """A door with an upright hinge, as it stands: vectors ``(3,)`` in the world frame, metres and radians."""

    joint: int
    anchor: Array
    sense: float  # of turning about the vertical for a growing joint value
    value: float  # present angle
    edge: Array  # from the hinge to near the free end, upper edge
    outward: Array  # unit vector square to the door, out of the fixture
    handle: Array  # middle of the handle
    open_at: float
    shut_at: float

    @classmethod
    def of(cls, scene: Scene, name: str) -> Door:
        """Read the door of a fixture."""
        joint = scene.joint(name)
        ranges = scene.articulation(name)
        anchor = scene.joint_anchor(joint)
        points = scene.points(scene.joint_body(joint)) - anchor
        reach = np.linalg.norm(points[:, :2], axis=1)
        panel, thin = _panel(points[points[:, 2] > points[:, 2].max() - 0.01])  # the edge, above any handle
        # The handle stands out of the panel; that side is the outside.
        side = points[np.argmax(np.abs(points[:, :2] @ thin))][:2] @ thin
        outward = np.array([*(thin * np.sign(side)), 0.0])
        far = points[points @ outward > (points @ outward).max() - 0.012]
        edge = np.array([*(panel * reach.max() * 0.8), points[:, 2].max()])
        middle = (far.max(0) + far.min(0)) / 2
        sense = float(np.sign(scene.joint_axis(joint)[2]))
        opened, shut = ranges["default_open_ranges"], ranges["default_close_ranges"]
        sign = float(np.sign(np.mean(opened)))
        open_at = sign * (min(abs(value) for value in opened) + 0.12)
        return cls(
            joint, anchor, sense, scene.joint_value(joint), edge, outward, middle, open_at, sign * min(map(abs, shut))
        )

    def at(self, value: float, vector: Array) -> Array:
        """World direction of a vector of the door when it stands at another angle."""
        return rotation_about_z(self.sense * (value - self.value)) @ vector


def _panel(points: Array) -> tuple[Array, Array]:
    """Horizontal unit vectors ``(2,)`` along the door from its hinge, and square to it."""
    _, _, axes = np.linalg.svd(points[:, :2] - points[:, :2].mean(0), full_matrices=False)
    along = axes[0] * np.sign(axes[0] @ points[:, :2].mean(0))
    return along, np.array([-along[1], along[0]])


def open_door(arm: Arm, name: str) -> Actions:
    """Pull the door ajar by its handle, then push it open from the inside."""
    door = Door.of(arm.scene, name)
    if abs(door.value) < AJAR / 2:
        yield from _pull(arm, door)
    yield from _sweep(arm, Door.of(arm.scene, name), door.open_at, inside=True)


def close_door(arm: Arm, name: str) -> Actions:
    """Push the door shut from the outside."""
    door = Door.of(arm.scene, name)
    yield from _sweep(arm, door, door.shut_at, inside=False)


def _pull(arm: Arm, door: Door) -> Actions:
    scene = arm.scene
    grip = arm.blur(door.anchor + door.handle, 0.2)
    out = door.outward
    side = np.array([-out[1], out[0], 0.0])  # the handle is upright: the fingers close from its sides
    turns = [frame(-out - up(SLANT), sign * side) for sign in (1.0, -1.0)]
    turn = max(turns, key=lambda t: float(np.trace(t @ arm.rest.T)))
    front = grip - 0.12 * turn[:, 2]
    yield from arm.travel(front + up(0.1), turn, OPEN)
    yield from arm.go(front, turn, OPEN, Tolerance(0.012, 0.1, 60))
    yield from arm.go(grip, turn, OPEN, Tolerance(0.008, steps=40), speed=0.6)
    yield from arm.hold(scene.hand, turn, CLOSE, 8)
    for _ in range(60):
        value = scene.joint_value(door.joint)
        if abs(value) > AJAR:
            break
        ahead = value + np.sign(door.open_at) * LEAD / 2
        spin = rotation_about_z(0.6 * door.sense * (value - door.value))  # the wrist need not follow all the way
        yield arm.towards(door.anchor + door.at(ahead, door.handle), spin @ turn, CLOSE)
    yield from arm.hold(scene.hand, scene.hand_rotation, OPEN, 6)
    back = scene.hand - 0.1 * scene.hand_rotation[:, 2]
    yield from arm.go(back, scene.hand_rotation, OPEN, Tolerance(0.02, steps=25))
    yield from arm.rise(0.2, OPEN, scene.hand_rotation)


def _sweep(arm: Arm, door: Door, goal: float, inside: bool) -> Actions:
    """Push the free end of the door along its arc to the angle ``goal`` with the closed fingers."""
    scene = arm.scene
    sign = float(np.sign(goal - door.value)) or -float(np.sign(door.value))
    side = door.outward * (-STANDOFF if inside else STANDOFF)
    lower = np.array([0.0, 0.0, -DEPTH])
    start = door.anchor + door.edge + 1.3 * side + lower
    yield from arm.travel(start + up(0.12), arm.rest, CLOSE)
    yield from arm.go(start, arm.rest, CLOSE, Tolerance(0.012, steps=40), speed=0.7)
    for _ in range(120):
        value = scene.joint_value(door.joint)
        if sign * (value - goal) > 0:
            break
        contact = door.at(value + sign * LEAD, door.edge + 0.3 * side) + lower
        yield arm.towards(door.anchor + contact, arm.rest, CLOSE, speed=0.7)
    yield from arm.rise(0.15, CLOSE)
