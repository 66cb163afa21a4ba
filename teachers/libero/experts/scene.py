"""What an expert may look at: the true poses, shapes and joints of a LIBERO world, as plain numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from teachers.libero.experts.geometry import Array, box_points, cylinder_points, ellipsoid_points

TABLES = ("floor", "main_table", "kitchen_table", "living_room_table", "study_table", "coffee_table")


class Scene:
    """Reads a world at the moment of each call; metres, radians, world frame, z up. One per episode.

    Names are those of the task's goal: objects and fixtures ("plate_1"), or regions ("plate_1_region").
    """

    def __init__(self, world: Any) -> None:
        self.world = world
        self.env = world.env
        self.model: Any = world.sim.model._model
        self.data: Any = world.sim.data._data
        self._local: dict[int, tuple[list[int], list[Array]]] = {}

    @property
    def hand(self) -> Array:
        """Grip site ``(3,)``, between the finger tips."""
        return np.array(self.data.site("gripper0_grip_site").xpos)

    @property
    def foot(self) -> Array:
        """Where the robot stands ``(3,)``."""
        return np.array(self.data.body("robot0_base").xpos)

    @property
    def shoulder(self) -> Array:
        """Where the upper arm turns ``(3,)``."""
        return np.array(self.data.body("robot0_link2").xpos)

    @property
    def elbow(self) -> float:
        """Angle of the elbow joint, rad: the more negative, the more bent."""
        return self.joint_value(self.model.joint("robot0_joint4").id)

    @property
    def wrist(self) -> Array:
        """Where the forearm ends ``(3,)``."""
        return np.array(self.data.body("robot0_link6").xpos)

    @property
    def hand_rotation(self) -> Array:
        """``(3, 3)``; the third column points out of the gripper, the first along the fingers' opening."""
        return np.array(self.data.site("gripper0_grip_site").xmat).reshape(3, 3)

    @property
    def finger_axis(self) -> Array:
        """Unit vector ``(3,)`` along which the fingers open."""
        between = self.data.body("gripper0_leftfinger").xpos - self.data.body("gripper0_rightfinger").xpos
        return between / np.linalg.norm(between)

    @property
    def opening(self) -> float:
        """Distance between the fingers, 0 to 0.08 m."""
        joints = (self.model.joint(f"gripper0_finger_joint{i}").qposadr[0] for i in (1, 2))
        return float(sum(abs(self.data.qpos[address]) for address in joints))

    @property
    def goal(self) -> list[list[str]]:
        """Predicates of the task."""
        return self.env.parsed_problem["goal_state"]

    @property
    def movable(self) -> list[str]:
        """Names of the objects that can be carried."""
        return list(self.env.objects_dict)

    def holds(self, predicate: list[str]) -> bool:
        """Whether a predicate of the goal is true now, as the task itself judges it."""
        return bool(self.env._eval_predicate(predicate))

    def body(self, name: str) -> int:
        return self.env.obj_body_id[name]

    def is_region(self, name: str) -> bool:
        return name in self.env.object_sites_dict

    def owner(self, name: str) -> str:
        """The object or fixture that a region belongs to; the name itself where it is no region."""
        return self.env.object_sites_dict[name].parent_name if self.is_region(name) else name

    def position(self, name: str) -> Array:
        """Centre ``(3,)`` of a region, or the origin of an object, as the task's predicates take it."""
        if self.is_region(name):
            return np.array(self.data.site(name).xpos)
        return np.array(self.data.xpos[self.body(name)])

    def half_size(self, region: str) -> Array:
        """Half sizes ``(3,)`` of a region along the world's axes."""
        rotation = np.array(self.data.site(region).xmat).reshape(3, 3)
        return np.abs(rotation @ self.env.object_sites_dict[region].size)

    def rotation(self, name: str) -> Array:
        """``(3, 3)`` of an object."""
        return np.array(self.data.xmat[self.body(name)]).reshape(3, 3)

    def joint(self, name: str) -> int:
        """Joint id of the drawer or door behind a region, or of a fixture such as a stove.

        Raises:
            KeyError: it has none.
        """
        joints = self.env.object_sites_dict[name].joints if self.is_region(name) else self.env.get_object(name).joints
        if not joints:
            raise KeyError(name)
        return self.model.joint(joints[0]).id

    def has_joint(self, name: str) -> bool:
        if self.is_region(name):
            return bool(self.env.object_sites_dict[name].joints)
        return name in self.env.fixtures_dict and bool(self.env.get_object(name).joints)

    def hinged(self, name: str) -> bool:
        """Whether it turns on a hinge, as against sliding."""
        from mujoco import mjtJoint

        return bool(self.model.jnt_type[self.joint(name)] == mjtJoint.mjJNT_HINGE)

    def open_drawer_near(self, thing: str, target: str, near: float = 0.15) -> bool:
        """Whether ``target`` is in a drawer that stands out within ``near`` metres of ``thing``, seen from above."""
        if not self.is_region(target) or not self.has_joint(target) or self.hinged(target):
            return False
        ways = self.points(self.joint_body(self.joint(target)))[:, None, :2] - self.points(thing)[None, :, :2]
        return bool(np.linalg.norm(ways, axis=2).min() < near)

    def joint_value(self, joint: int) -> float:
        """Angle or slide of a joint, rad or m."""
        return float(self.data.qpos[self.model.jnt_qposadr[joint]])

    def joint_axis(self, joint: int) -> Array:
        return np.array(self.data.xaxis[joint])

    def joint_anchor(self, joint: int) -> Array:
        return np.array(self.data.xanchor[joint])

    def joint_body(self, joint: int) -> int:
        return int(self.model.jnt_bodyid[joint])

    def articulation(self, name: str) -> dict[str, Any]:
        """The fixture's own ranges of open, closed, on and off."""
        return self.env.get_object(self.owner(name)).object_properties["articulation"]

    def points(self, body: str | int) -> Array:
        """Points ``(N, 3)`` on the collision shapes of a body and all that hangs on it."""
        number = self.body(body) if isinstance(body, str) else body
        if number not in self._local:
            self._local[number] = self._shapes(number)
        geoms, shapes = self._local[number]
        placed = [
            shape @ self.data.geom_xmat[geom].reshape(3, 3).T + self.data.geom_xpos[geom]
            for geom, shape in zip(geoms, shapes, strict=True)
        ]
        return np.concatenate(placed) if placed else np.zeros((0, 3))

    def obstacles(self, *without: str) -> Array:
        """Points ``(O, 3)`` of all objects and fixtures but tables and those named."""
        names = [*self.env.objects_dict, *self.env.fixtures_dict]
        names = [n for n in names if n not in without and n not in TABLES and n in self.env.obj_body_id]
        return np.concatenate([self.points(name) for name in names]) if names else np.zeros((0, 3))

    def _shapes(self, root: int) -> tuple[list[int], list[Array]]:
        bodies = {root}
        for body in range(root + 1, self.model.nbody):  # parents come before their children
            if self.model.body_parentid[body] in bodies:
                bodies.add(body)
        geoms, shapes = [], []
        for geom in range(self.model.ngeom):
            solid = self.model.geom_contype[geom] or self.model.geom_conaffinity[geom]
            if solid and self.model.geom_bodyid[geom] in bodies:
                shape = self._shape(geom)
                if shape is not None:
                    geoms.append(geom)
                    shapes.append(shape)
        return geoms, shapes

    def _shape(self, geom: int) -> Array | None:
        from mujoco import mjtGeom

        kind, size = mjtGeom(int(self.model.geom_type[geom])), np.array(self.model.geom_size[geom])
        if kind == mjtGeom.mjGEOM_MESH:
            mesh = self.model.geom_dataid[geom]
            first, count = self.model.mesh_vertadr[mesh], self.model.mesh_vertnum[mesh]
            return np.array(self.model.mesh_vert[first : first + count], np.float64)
        if kind == mjtGeom.mjGEOM_BOX:
            return box_points(size)
        if kind in (mjtGeom.mjGEOM_CYLINDER, mjtGeom.mjGEOM_CAPSULE):
            return cylinder_points(size[0], size[1])
        if kind == mjtGeom.mjGEOM_SPHERE:
            return ellipsoid_points(np.repeat(size[0], 3))
        return ellipsoid_points(size) if kind == mjtGeom.mjGEOM_ELLIPSOID else None
