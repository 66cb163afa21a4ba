"""Control steps and exact states of a robosuite environment with one arm."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from teachers.libero.lowpoly import low_poly
from teachers.libero.renderer import Renderer
from teachers.libero.simulator import robosuite, seeded
from world_model.errors import InputError
from world_model.rules import Choice, follow

Look = Literal["stock", "fast"]
Saved = Mapping[str, NDArray[Any]]


class Physics:
    """The parts of a robosuite environment that its next control step depends on.

    Beside MuJoCo's integration state these are the controller's goal, the gripper's ramp and the poses of fixtures,
    which lie in the model. The environment is stepped without its observables: they are costly and change nothing.

    Args:
        env: a robosuite environment with one arm under OSC, made without renderers.
        look: "fast" draws meshes with fewer faces.
    """

    def __init__(self, env: Any, look: Look = "stock") -> None:
        import mujoco

        self._mujoco = mujoco
        self.env, self.look = env, look
        self._model, self._data = env.sim.model._model, env.sim.data._data
        self._kind = int(mujoco.mjtState.mjSTATE_INTEGRATION)
        env.visualize(dict.fromkeys(env._visualizations, False))  # hides helper marks, as a reset would
        self._size = mujoco.mj_stateSize(self._model, self._kind)
        self._body_pos, self._body_quat = self._model.body_pos.copy(), self._model.body_quat.copy()
        self._substeps = int(env.control_timestep / env.model_timestep)
        self._renderer: Renderer | None = None
        objects = env.model.mujoco_objects
        self._bodies = {thing.name: self._model.body(thing.root_body).id for thing in objects}
        moving = [joint for thing in objects for joint in thing.joints if self._model.joint(joint).qpos0.size == 1]
        self._joints = {joint: int(self._model.joint(joint).qposadr[0]) for joint in moving}

    @property
    def sim(self) -> Any:
        """robosuite's simulation."""
        return self.env.sim

    @property
    def _robot(self) -> Any:
        return self.env.robots[0]

    def draw(self, seed: int) -> None:
        """robosuite's own soft reset, with all that is random in it drawn from ``seed``."""
        errors = robosuite().utils.errors
        self._model.body_pos[:], self._model.body_quat[:] = self._body_pos, self._body_quat
        with seeded(seed):
            while True:  # as LIBERO does: objects that found no free place are drawn anew
                try:
                    self.env.reset()
                except errors.RandomizationError:
                    continue
                return

    def begin(self, state: NDArray[np.float64]) -> None:
        """Forget all history and stand at time, positions and velocities ``(1 + nq + nv,)``."""
        self._mujoco.mj_resetData(self._model, self._data)
        self.sim.set_state_from_flattened(state)
        self._gripper = np.zeros(len(self._gripper))
        controller = self._robot.controller
        controller.update(force=True)
        controller.reset_goal()
        self._refresh()

    def step(self, action: NDArray[Any]) -> None:
        """One control step of an action ``(7,)`` in [-1, 1], not rendered; the physics is the environment's own."""
        env, sim = self.env, self.sim
        env.timestep += 1
        for substep in range(self._substeps):
            sim.forward()
            env._pre_action(action, policy_step=substep == 0)
            sim.step()
        env.cur_time += env.control_timestep
        self._refresh()

    def render(self, camera: str = "agentview", size: int = 128) -> NDArray[np.uint8]:
        """Picture ``(size, size, 3)`` RGB of the present state, upright.

        Raises:
            NoRendererError: this machine cannot draw.
        """
        return self._drawer(size).render(self._data, self._model.camera(camera).id, size)

    def _drawer(self, size: int) -> Renderer:
        """What draws pictures up to a size."""
        if self._renderer is None or self._renderer.closed or self._renderer.size < size:
            self.close()
            with low_poly(self._model) if self.look == "fast" else contextlib.nullcontext():
                self._renderer = Renderer(self._model, size)
        return self._renderer

    def close(self) -> None:
        """Release what pictures need; the next picture takes it again."""
        if self._renderer is not None:
            self._renderer.close()
            self._renderer = None

    def success(self) -> bool:
        """Whether the task's own predicate of success holds now."""
        return bool(self.env._check_success())

    def object_poses(self) -> dict[str, NDArray[np.float64]]:
        """Position in m and quaternion (w, x, y, z) ``(7,)`` of every object and fixture."""
        data, bodies = self._data, self._bodies
        return {name: np.concatenate([data.xpos[body], data.xquat[body]]) for name, body in bodies.items()}

    def joint_positions(self) -> dict[str, float]:
        """Position in m or rad of every drawer, door and knob."""
        return {name: float(self._data.qpos[address]) for name, address in self._joints.items()}

    def privileged(self) -> dict[str, NDArray[np.float64]]:
        """Object poses ``(7,)``, then joints ``(1,)``."""
        return {**self.object_poses(), **{name: np.array([q]) for name, q in self.joint_positions().items()}}

    def snapshot(self) -> Saved:
        """Everything that `restore` needs to go on exactly as from here."""
        physics = np.empty(self._size)
        self._mujoco.mj_getState(self._model, self._data, physics, self._kind)
        controller = self._robot.controller
        return {
            "physics": physics,
            "body_pos": self._model.body_pos.copy(),
            "body_quat": self._model.body_quat.copy(),
            "gripper": self._gripper.copy(),
            "goal_pos": np.array(controller.goal_pos, np.float64),
            "goal_ori": np.array(controller.goal_ori, np.float64),
            "rest_joints": np.array(controller.initial_joint, np.float64),
            "clock": np.array([self.env.timestep, self.env.cur_time], np.float64),
        }

    def restore(self, saved: Saved) -> None:
        """Go to a snapshot of this task, taken from this or any other world.

        Raises:
            InputError: the snapshot is of another scene.
        """
        if len(saved["physics"]) != self._size or saved["body_pos"].shape != self._model.body_pos.shape:
            raise InputError(
                f"snapshot has {len(saved['physics'])} numbers of physics but this scene has {self._size}; "
                "restore it in the task it was taken from"
            )
        self._model.body_pos[:], self._model.body_quat[:] = saved["body_pos"], saved["body_quat"]
        self._mujoco.mj_setState(self._model, self._data, np.asarray(saved["physics"]), self._kind)
        controller = self._robot.controller
        controller.goal_pos, controller.goal_ori = saved["goal_pos"].copy(), saved["goal_ori"].copy()
        controller.initial_joint = saved["rest_joints"].copy()
        controller.new_update = True
        self._gripper = saved["gripper"].copy()
        self.env.timestep, self.env.cur_time = int(saved["clock"][0]), float(saved["clock"][1])
        self.env.done = False
        self._refresh()

    @property
    def _gripper(self) -> NDArray[np.float64]:
        """Where the gripper's ramp stands, one number in [-1, 1] for each finger."""
        gripper = self._robot.gripper
        return np.array(np.broadcast_to(gripper.current_action, len(gripper.actuators)), np.float64)

    @_gripper.setter
    def _gripper(self, value: NDArray[np.float64]) -> None:
        self._robot.gripper.current_action = value

    def _refresh(self) -> None:
        """Make poses, contacts and lamps those of the present state; a step leaves them one substep old."""
        warmstart = self._data.qacc_warmstart.copy()
        self.sim.forward()
        self._data.qacc_warmstart[:] = warmstart
        if hasattr(self.env, "_post_process"):
            self.env._post_process()


def check_look(look: str) -> None:
    """Refuse an unknown look.

    Raises:
        InputError: it is neither "stock" nor "fast".
    """
    follow(Choice(get_args(Look)), "look", look)
