"""What the numbers of a robot arm under LIBERO's controller mean."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from teachers.libero.physics import Look
from world_model.contract import Camera, Contract, Dimension, Normalizer
from world_model.errors import InputError
from world_model.rules import TEXT, Number, Several, Whole, follow

CONTROL_HZ = 20.0
FRAME_HZ = 5.0
CAMERAS = {"agentview": "agentview", "wrist": "robot0_eye_in_hand"}
"""Our name of a camera to the simulator's."""
OPEN = 0.08  # m between the fingers
DOWN = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, -1.0]])
"""Attitude of the hand pointing straight down, as the controller defines it."""
LEVELS = {  # m: lowest and highest place of the hand; the suites stand on tables, on the floor, or on both
    "libero_spatial": (0.8, 1.8),
    "libero_object": (-0.1, 0.9),
    "libero_goal": (0.8, 1.8),
    "libero_10": (0.3, 1.9),
    "libero_90": (0.3, 1.9),
    "robosuite": (0.6, 1.8),
}


def arm_contract(
    name: str,
    level: str,
    cameras: tuple[str, ...] = tuple(CAMERAS),
    size: int = 128,
    frame_hz: float = FRAME_HZ,
    look: Look = "stock",
) -> Contract:
    """Contract of a world with one Panda arm.

    Actions are relative to the present pose in world axes: 1 moves the goal of the hand by 5 cm or turns it by 0.5 rad.
    The gripper closes at plus and opens at minus, at its own speed whatever the size; 0 leaves it. Proprio is the
    hand's place in the world, its turn away from pointing straight down as an axis-angle vector in world axes, and the
    opening between the fingers.

    Raises:
        InputError: unknown cameras, a size below 1, or a rate that does not divide the rate of control.
    """
    size = follow(Whole(1, 2048), "size", size)
    frame_hz = follow(Number(0, CONTROL_HZ), "frame_hz", frame_hz)
    cameras = follow(Several(TEXT, least=0), "cameras", cameras)
    unknown = [camera for camera in cameras if camera not in CAMERAS]
    if unknown or not cameras or len(set(cameras)) < len(cameras):
        raise InputError(f"cameras are {list(cameras)} but must be one or more of {', '.join(CAMERAS)}, each once")
    per_frame = CONTROL_HZ / frame_hz if frame_hz > 0 else 0.0
    if per_frame < 1 or not per_frame.is_integer():
        raise InputError(f"frame_hz is {frame_hz:g} but must divide the {CONTROL_HZ:g} Hz of control, such as 5 or 10")
    low, high = LEVELS[level]
    actions = (
        *(Dimension(f"move_{axis}", "0.05 m", -1.0, 1.0, "relative") for axis in "xyz"),
        *(Dimension(f"turn_r{axis}", "0.5 rad", -1.0, 1.0, "relative") for axis in "xyz"),
        Dimension("gripper", "sign", -1.0, 1.0),
    )
    proprio = (
        Dimension("hand_x", "m", -0.9, 0.5),
        Dimension("hand_y", "m", -0.8, 0.8),
        Dimension("hand_z", "m", low, high),
        *(Dimension(f"hand_r{axis}", "rad", -math.pi, math.pi) for axis in "xyz"),
        Dimension("gripper_opening", "m", 0.0, OPEN),
    )
    bounds = [tuple(getattr(d, end) for d in dims) for dims in (actions, proprio) for end in ("low", "high")]
    return Contract(
        name=name,
        cameras=tuple(Camera(camera, size, size, "upright") for camera in cameras),
        control_hz=CONTROL_HZ,
        actions_per_frame=int(per_frame),
        actions=actions,
        proprio=proprio,
        normalizer=Normalizer("bounds", *bounds),
        gripper="plus_closes",
        look=None if look == "stock" else look,
    )


def proprio_of(env: Any) -> NDArray[np.float32]:
    """Proprio ``(7,)`` of a robosuite environment's present state."""
    robot, data = env.robots[0], env.sim.data
    attitude = data.site_xmat[robot.eef_site_id].reshape(3, 3)
    fingers = data.qpos[robot._ref_gripper_joint_pos_indexes]  # of opposite sign: their sum is always near 0
    return np.concatenate(
        [data.site_xpos[robot.eef_site_id], axis_angle(attitude @ DOWN.T), [abs(fingers[0] - fingers[1])]]
    ).astype(np.float32)


def axis_angle(rotation: NDArray[np.float64]) -> NDArray[np.float64]:
    """Vector ``(3,)`` along the axis of a rotation matrix, as long as its angle in [0, pi]."""
    import mujoco

    quaternion, vector = np.empty(4), np.empty(3)
    mujoco.mju_mat2Quat(quaternion, np.ascontiguousarray(rotation).ravel())
    mujoco.mju_quat2Vel(vector, quaternion, 1.0)
    return vector
