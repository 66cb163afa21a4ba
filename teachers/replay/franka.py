"""A Franka Panda with a Robotiq gripper in MuJoCo, posed by joint angles and seen through a fitted camera."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from teachers.libero.lowpoly import low_poly
from teachers.libero.renderer import Renderer
from teachers.libero.simulator import private, robosuite
from teachers.replay.camera import Camera

CLOSED = 0.8  # rad, of the gripper's knuckles
KNUCKLES = {  # how the gripper's joints follow the first
    "finger_joint": 1.0,
    "left_inner_knuckle_joint": 1.0,
    "left_inner_finger_joint": -1.0,
    "right_outer_knuckle_joint": 1.0,
    "right_inner_knuckle_joint": 1.0,
    "right_inner_finger_joint": -1.0,
}
GRIPPER_TURN = np.pi / 4  # rad about the flange: DROID mounts it so, seen in its videos
SCENERY = """<asset>
  <texture type="skybox" builtin="flat" rgb1="0.72 0.74 0.77" rgb2="0.72 0.74 0.77" width="16" height="16"/>
</asset>
<worldbody>
  <camera name="fitted" mode="fixed"/>
  <light pos="0 0 3" dir="0.3 0.2 -1" directional="true" diffuse="0.5 0.5 0.5" castshadow="false"/>
  <geom name="backdrop" type="plane" pos="0 0 -0.75" size="6 6 1" rgba="0.42 0.40 0.38 1" group="1" contype="0"
    conaffinity="0"/>"""
MARKED = {"tips": ("gripper0_grip_site", (0.0, 0.0, 0.018)), "cap": ("robot0_link6", (0.0, 0.0, 0.056))}
"""Name of a key point to the site or body that it is fixed to, and where on it (m)."""


class Franka:
    """One arm in front of nothing; positions are in its base's frame."""

    def __init__(self) -> None:
        import mujoco

        self._mujoco = mujoco
        self._model: Any = mujoco.MjModel.from_xml_string(_xml())
        self._data: Any = mujoco.MjData(self._model)
        self._knuckles = {int(self._model.joint(f"gripper0_{n}").qposadr[0]): turn for n, turn in KNUCKLES.items()}
        self._renderer: Renderer | None = None
        self._camera = self._model.camera("fitted").id
        self._model.site_rgba[:, 3] = 0.0  # robosuite's helper marks
        mount = self._model.body("gripper0_robotiq_85_adapter_link")
        turned = Rotation.from_euler("z", GRIPPER_TURN) * Rotation.from_quat(np.roll(mount.quat, -1))
        mount.quat[:] = np.roll(turned.as_quat(), 1)

    def pose(self, joints: NDArray[np.float64], gripper: float = 0.0) -> None:
        """Stand with joint angles ``(7,)`` in rad and a gripper between 0 (open) and 1 (closed)."""
        self._data.qpos[:] = 0
        self._data.qpos[:7] = joints
        for address, turn in self._knuckles.items():
            self._data.qpos[address] = turn * CLOSED * gripper
        self._mujoco.mj_kinematics(self._model, self._data)
        self._mujoco.mj_comPos(self._model, self._data)
        self._mujoco.mj_camlight(self._model, self._data)

    def key_point(self, name: str) -> NDArray[np.float64]:
        """Place ``(3,)`` in m of one of `MARKED`."""
        owner, offset = MARKED[name]
        if owner.endswith("site"):
            site = self._data.site(owner)
            return np.asarray(site.xpos + site.xmat.reshape(3, 3) @ offset)
        body = self._data.body(owner)
        return np.asarray(body.xpos + body.xmat.reshape(3, 3) @ offset)

    def render(self, camera: Camera) -> NDArray[np.uint8]:
        """Picture ``(height, width, 3)`` RGB.

        Raises:
            NoRendererError: this machine cannot draw.
        """
        return self._draw(camera, masked=False)

    def mask(self, camera: Camera) -> NDArray[np.float32]:
        """Where the robot is seen, 0 or 1, ``(height, width)``."""
        return np.asarray(self._draw(camera, masked=True).any(-1), np.float32)

    def _draw(self, camera: Camera, masked: bool) -> NDArray[np.uint8]:
        if self._renderer is None or self._renderer.closed:
            with low_poly(self._model):
                self._renderer = Renderer(self._model, camera.width)
        model, flags = self._model, self._mujoco.mjtRndFlag
        right, down, forward = camera.axes
        x, y, z, w = Rotation.from_matrix(np.stack([right, -down, -forward], 1)).as_quat()
        model.cam_pos[self._camera], model.cam_quat[self._camera] = camera.place, (w, x, y, z)
        square = round(camera.height / camera.stretch)  # MuJoCo's pixels are square
        model.cam_fovy[self._camera] = np.degrees(2 * np.arctan(square / 2 / camera.focal))
        model.geom("backdrop").rgba[3] = 0.0 if masked else 1.0
        self._mujoco.mj_camlight(model, self._data)

        def flag(scene: Any) -> None:
            scene.flags[flags.mjRND_SEGMENT] = scene.flags[flags.mjRND_IDCOLOR] = masked

        drawn = self._renderer.render(self._data, self._camera, square, camera.width, flag)
        return np.asarray(cv2.resize(drawn, (camera.width, camera.height), interpolation=cv2.INTER_LINEAR), np.uint8)


def _xml() -> str:
    """MJCF of robosuite's Panda and Robotiq 85 with a camera, a lamp and a floor."""
    robosuite()
    with private():
        from robosuite.models.grippers import gripper_factory
        from robosuite.models.robots import Panda
        from robosuite.models.world import MujocoWorldBase

        arm, world = Panda(idn=0), MujocoWorldBase()
        gripper = gripper_factory("Robotiq85Gripper", idn=0)
        arm.add_gripper(gripper)
        world.merge(arm)
        xml = str(world.get_xml())
    return xml.replace("<worldbody>", SCENERY, 1)
