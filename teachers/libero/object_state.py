"""Where everything is, in the same named numbers for all tasks of a suite: in the room and in the pictures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from teachers.libero.contract import CAMERAS
from teachers.libero.layout import Layout
from teachers.libero.physics import Physics

TIP = 0.06  # m along an object's own z axis: its second key point, which tells how it lies
NEAREST = 0.01  # m: a point beside or behind a camera is taken to be so far in front of it
OUTSIDE = 1.5  # largest picture coordinate
HAND = {
    "hand": "gripper0_eef",
    "left_finger": "gripper0_finger_joint1_tip",
    "right_finger": "gripper0_finger_joint2_tip",
}


class ObjectState:
    """Reads the columns ``names`` of a world at a time.

    For each object and fixture: ``_here`` (1, or 0 where the task has none, and then all its numbers are 0), its
    place ``_x``, ``_y``, ``_z`` in m, its attitude ``_r1`` to ``_r6`` (the first two columns of its rotation matrix).
    For each drawer, door and knob its joint in m or rad. Then for each camera, in the contract's order, the picture
    coordinates ``_u`` (to the right) and ``_v`` (downwards), -1 to 1 between the picture's edges and at most 1.5 beyond
    them, of the hand, its finger tips, each object and its tip, each fixture, and the middle of each moving part.
    """

    def __init__(self, layout: Layout, cameras: Sequence[str]) -> None:
        self._layout, self._cameras = layout, tuple(CAMERAS[camera] for camera in cameras)
        self._bodies = (*layout.objects, *layout.fixtures)
        tips = tuple(f"{name}_tip" for name in layout.objects)
        self._points = (*HAND, *self._bodies, *tips, *layout.joints)
        pose = ("here", "x", "y", "z", *(f"r{i}" for i in range(1, 7)))
        self.names = (
            *(f"{body}_{part}" for body in self._bodies for part in pose),
            *layout.joints,
            *(f"{camera}_{point}_{axis}" for camera in cameras for point in self._points for axis in "uv"),
        )

    def read(self, world: Physics) -> NDArray[np.float64]:
        """The numbers of `names` ``(S,)`` in the present moment."""
        model, data = world.sim.model._model, world.sim.data._data
        poses, points = [], self._hand(data)
        present = world.object_poses()
        for name in self._bodies:
            if name not in present:
                poses.append(np.zeros(10))
                continue
            place, rotation = present[name][:3], _matrix(present[name][3:])
            poses.append(np.concatenate([[1.0], place, rotation[:, 0], rotation[:, 1]]))
            points[name], points[f"{name}_tip"] = place, place + TIP * rotation[:, 2]
        joints = world.joint_positions()
        for joint in self._layout.joints:
            if joint in joints:
                geoms = np.flatnonzero(model.geom_bodyid == model.joint(joint).bodyid[0])
                points[joint] = data.geom_xpos[geoms].mean(0)
        seen = [self._project(model, data, camera, points) for camera in self._cameras]
        return np.concatenate([*poses, [joints.get(name, 0.0) for name in self._layout.joints], *seen])

    def _hand(self, data: Any) -> dict[str, NDArray[np.float64]]:
        return {name: np.array(data.body(body).xpos) for name, body in HAND.items()}

    def _project(
        self, model: Any, data: Any, camera: str, points: dict[str, NDArray[np.float64]]
    ) -> NDArray[np.float64]:
        number = model.camera(camera).id
        rotation, origin = data.cam_xmat[number].reshape(3, 3), data.cam_xpos[number]  # looks along its -z, y is up
        scale = 1.0 / np.tan(np.radians(model.cam_fovy[number]) / 2)
        out = np.zeros((len(self._points), 2))
        for row, name in enumerate(self._points):
            if name in points:
                right, up, back = (points[name] - origin) @ rotation
                out[row] = np.array([right, -up]) * scale / max(-back, NEAREST)
        return out.clip(-OUTSIDE, OUTSIDE).ravel()


def _matrix(quaternion: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rotation ``(3, 3)`` of a unit quaternion (w, x, y, z)."""
    import mujoco

    out = np.empty(9)
    mujoco.mju_quat2Mat(out, np.ascontiguousarray(quaternion))
    return out.reshape(3, 3)
