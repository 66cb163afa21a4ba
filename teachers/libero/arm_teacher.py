"""What the teachers of LIBERO and robosuite have in common."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from teachers.libero.contract import CAMERAS, proprio_of
from teachers.libero.flat_state import unflatten
from teachers.libero.physics import Physics
from teachers.libero.stage import Actor, Stage
from teachers.teacher import Snapshot, TeacherObservation, TeacherStep
from world_model.contract import Contract
from world_model.errors import InputError


class ArmTeacher:
    """A robot arm at any of a family's tasks, under the `Teacher` protocol.

    Labels belong to the present state: "success" is the task's own predicate, "reward" is 1 where it holds,
    "success_since" says whether it held after any control step since the last frame.
    """

    label_names: ClassVar[tuple[str, ...]] = ("reward", "success", "success_since")
    contract: Contract

    def __init__(self, config: Any) -> None:
        self.config = config
        self._actor = Actor()
        self._stage: Stage[Physics] | None = None
        self._start = ""
        self._held = False

    def _open(self, start: str) -> Stage[Physics]:
        """The stage of a start's task.

        Raises:
            InputError: no such start.
        """
        raise NotImplementedError

    def _begin(self, world: Any, start: str) -> None:
        """Put a world of the start's task to the start."""
        raise NotImplementedError

    def reset(self, start: str, render: bool = True) -> TeacherObservation:
        """Go to a named start (see the family's own text).

        Raises:
            InputError: no such start.
        """
        stage = self._open(start)
        if stage is not self._stage:
            self._actor = Actor()
        self._stage, self._start = stage, start
        world = stage.enter(self._actor)
        self._begin(world, start)
        self._held = world.success()
        return self._observe(render)

    def step(self, actions: NDArray[Any], render: bool = True) -> TeacherStep:
        """Apply the actions ``(a, 7)`` of one frame; one control step each."""
        checked = self.contract.check_actions(actions, ndim=2)
        if len(checked) != self.contract.actions_per_frame:
            raise InputError(
                f"{self.contract.name} takes {self.contract.actions_per_frame} actions per frame but {len(checked)} "
                f"came; pass an array of shape ({self.contract.actions_per_frame}, {self.contract.action_dim})"
            )
        return self.follow(iter(checked), render)[1]

    def follow(self, actions: Iterator[NDArray[Any]], render: bool = True) -> tuple[NDArray[np.float32], TeacherStep]:
        """As `step`, but each of the frame's actions is asked for when its turn has come, and may so look at the world.

        Returns:
            The actions as they were applied ``(a, 7)``, clipped to the contract's bounds, and the step.
        """
        world, low, high = self.world, *self.contract.action_bounds()
        applied = np.empty((self.contract.actions_per_frame, self.contract.action_dim), np.float32)
        self._held = False
        for row in applied:
            row[:] = np.clip(next(actions), low, high)
            world.step(row.astype(np.float64))
            self._held = world.success() or self._held
        return applied, TeacherStep(self._observe(render), self.labels())

    def resume(self, start: str, simulation: NDArray[np.float64], render: bool = True) -> TeacherObservation:
        """Stand at a recorded moment of an episode that began at ``start``, and go on exactly as it did.

        Args:
            simulation: a row of the data set's "simulation.state" (`teachers.libero.flat_state`).

        Raises:
            InputError: no such start, or a state of another scene.
        """
        self.reset(start, render=False)
        world = self.world
        world.restore(unflatten(np.asarray(simulation), world.snapshot()))
        self._held = world.success()
        return self._observe(render)

    def labels(self) -> dict[str, float]:
        success = float(self.world.success())
        return {"reward": success, "success": success, "success_since": float(self._held)}

    def render(self) -> dict[str, NDArray[np.uint8]]:
        """Present frame of each camera, ``(H, W, 3)`` RGB.

        Raises:
            NoRendererError: this machine cannot draw.
        """
        return {c.name: self.world.render(CAMERAS[c.name], c.height) for c in self.contract.cameras}

    @property
    def world(self) -> Any:
        """The simulator in this teacher's moment; borrowed, for other teachers of the task use it too.

        Raises:
            InputError: no reset yet.
        """
        if self._stage is None:
            raise InputError(f"the teacher of {self.contract.name} has no state yet; call reset(start) first")
        return self._stage.enter(self._actor)

    @property
    def state(self) -> NDArray[np.float64]:
        """Poses of all objects and joints of all furniture of the present task ``(S,)``, as `state_names`."""
        return np.concatenate([np.zeros(0), *self.world.privileged().values()])

    @property
    def state_names(self) -> tuple[str, ...]:
        """Names of `state`; they change with the task, and there are none before a reset."""
        if self._stage is None:
            return ()
        parts = ("x", "y", "z", "qw", "qx", "qy", "qz")
        return tuple(
            f"{name}_{part}" if len(values) == len(parts) else name
            for name, values in self.world.privileged().items()
            for part in parts[: len(values)]
        )

    def snapshot(self) -> Snapshot:
        saved = {f"world_{name}": array for name, array in self.world.snapshot().items()}
        return {
            "teacher": np.array(self.contract.name),
            "start": np.array(self._start),
            "held": np.array(self._held),
            **saved,
        }

    def restore(self, snapshot: Snapshot) -> None:
        if str(snapshot.get("teacher")) != self.contract.name:
            raise InputError(
                f"snapshot is of teacher {snapshot.get('teacher')}, not of {self.contract.name}; restore it there"
            )
        self._start, self._held = str(snapshot["start"]), bool(snapshot["held"])
        self._stage = self._open(self._start)
        self._actor = Actor({n.removeprefix("world_"): np.asarray(a) for n, a in snapshot.items() if "world_" in n})
        self._stage.enter(self._actor)

    def branch(self, k: int) -> list[Self]:
        snapshot = self.snapshot()
        branches = [type(self)(self.config) for _ in range(k)]
        for teacher in branches:
            teacher.restore(snapshot)
        return branches

    def _observe(self, render: bool) -> TeacherObservation:
        return TeacherObservation(self.render() if render else {}, proprio_of(self.world.env))
