"""The dial of a stove: grasped from above and turned."""

from __future__ import annotations

import numpy as np

from teachers.libero.experts.geometry import rotation_about_z, up
from teachers.libero.experts.motion import CLOSE, OPEN, Actions, Arm, Tolerance

ON, OFF = 0.7, 0.0  # rad: beyond what the task asks for
STEP = 0.06  # rad a control step


def turn_dial(arm: Arm, stove: str, on: bool) -> Actions:
    """Turn the dial until the stove is on, or off."""
    scene = arm.scene
    joint = scene.joint(stove)
    points = scene.points(scene.joint_body(joint))
    top = points[:, 2].max()
    blade = points[points[:, 2] > top - 0.02]

    def thickness(yaw: float) -> float:
        along = blade[:, :2] @ (rotation_about_z(yaw) @ arm.finger_axis)[:2]
        return float(np.ptp(along)) + 0.01 * abs(yaw)

    yaw = min(np.deg2rad(np.arange(-90, 90, 5)), key=thickness)
    turn = rotation_about_z(yaw) @ arm.rest
    site = arm.blur([*scene.joint_anchor(joint)[:2], top - 0.012], 0.2)
    yield from arm.go(site + up(0.10), turn, OPEN, Tolerance(0.015, 0.1, 70))
    yield from arm.go(site, turn, OPEN, Tolerance(0.008, steps=40), speed=0.6)
    yield from arm.hold(site, turn, CLOSE, 8)
    sense = float(np.sign(scene.joint_axis(joint)[2])) * (1.0 if on else -1.0)
    for _ in range(40):
        value = scene.joint_value(joint)
        if (on and value > ON) or (not on and value < OFF):
            break
        turn = rotation_about_z(sense * STEP) @ turn
        yield arm.towards(site, turn, CLOSE)
    yield from arm.hold(scene.hand, scene.hand_rotation, OPEN, 6)
    yield from arm.rise(0.12, OPEN, scene.hand_rotation)
