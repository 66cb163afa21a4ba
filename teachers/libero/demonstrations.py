"""Demonstrations in HDF5, people's own or published ones, as a data set of ours.

Pictures and the hand's pose are taken from the file. Robosuite's own recordings hold neither, only the simulator's
states: these are drawn by the simulator. LIBERO's files play at 20 Hz; a frame is taken every 20 / ``frame_hz`` steps,
counted back from the last, and the actions between two frames go with them.
"""

from __future__ import annotations

import bisect
import itertools
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from teachers.collection import Job
from teachers.libero.contract import CAMERAS, DOWN, FRAME_HZ, arm_contract, proprio_of
from teachers.libero.demonstration_files import world_of
from teachers.libero.robosuite import TASKS, RobosuiteConfig, RobosuiteTeacher
from teachers.recording import Split
from world_model.canvas import join
from world_model.data.episode import Episode
from world_model.data.hdf5 import Demonstration, DemonstrationFile
from world_model.data.lerobot.layout import DatasetSpec
from world_model.errors import DataError, InputError

BODY_TO_HAND = np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
"""From the body whose attitude such files hold to the place between the fingers, whose attitude our proprio holds."""
LABELS = ("reward", "success", "success_since")


@dataclass(frozen=True)
class ImportJob(Job):
    """To import files; ``teacher`` is the suite where the files do not tell it."""

    files: tuple[Path, ...] = ()
    cameras: tuple[str, ...] = ()
    """All that the files have where none is named."""
    size: int = 128
    """Of pictures that must be drawn."""
    frame_hz: float = FRAME_HZ

    def recorder(self) -> DemonstrationRecorder:
        return DemonstrationRecorder(self)

    def of_all(self) -> Self:
        """The job for all demonstrations of the split."""
        return replace(self, episodes=self.recorder().count())


class DemonstrationRecorder:
    """Reads one split of some files: the first nine tenths of each file's demonstrations train, the others test.

    Raises:
        InputError: files of different worlds, or of one that is not known here, or cameras that the files lack.
        DataError: a damaged file.
    """

    def __init__(self, job: ImportJob) -> None:
        self._job = job
        self._files = [DemonstrationFile(path) for path in job.files]
        self._worlds = [world_of(file, job.teacher) for file in self._files]
        self._rows = [_rows(len(file), job.split) for file in self._files]
        self._ends = list(itertools.accumulate(len(rows) for rows in self._rows))
        if not self._ends or not self._ends[-1]:
            raise InputError(f"no demonstration is of split {job.split!r}; take another split or more files")
        first = self._first()
        for file, world in zip(self._files, self._worlds, strict=True):
            if world.name != self._worlds[0].name:
                raise InputError(
                    f"{self._files[0].path} is of {self._worlds[0].name} and {file.path} of {world.name}; "
                    "import them into a data set each"
                )
        cameras = job.cameras or tuple(first.pictures) or tuple(CAMERAS)
        size = next(iter(first.pictures.values())).shape[1] if first.pictures else job.size
        contract = arm_contract(self._worlds[0].name, self._worlds[0].level, cameras, size, job.frame_hz)
        self._drawing = None if first.pictures else _Drawing(self._worlds[0].name, contract.cameras, job)
        self.spec = DatasetSpec(
            contract=contract,
            state_names=self._drawing.state_names if self._drawing else (),
            label_names=LABELS,
            tasks=self._worlds[0].tasks,
            robot="panda",
            split=job.split,
            seed=job.seed,
        )

    def describe(self) -> dict[str, Any]:
        job = self._job
        files = [[file.path.name, file.path.stat().st_size] for file in self._files]
        cameras = [camera.name for camera in self.spec.contract.cameras]
        return {"split": job.split, "seed": job.seed, "files": files, "cameras": cameras, "frame_hz": job.frame_hz}

    def count(self) -> int:
        """Demonstrations of the split."""
        return self._ends[-1]

    def length(self, index: int) -> int:
        file, number = self._find(index)
        return (self._files[file].lengths()[number] - 1) // self.spec.contract.actions_per_frame + 1

    def record(self, index: int) -> Episode:
        file, number = self._find(index)
        demo, contract = self._files[file][number], self.spec.contract
        step, last = contract.actions_per_frame, self._files[file].lengths()[number] - 1
        rows = np.arange(last % step, last + 1, step)
        first = rows[0] + int(demo.after)
        low, high = contract.action_bounds()
        actions = demo.actions[first : first + (len(rows) - 1) * step].clip(low, high)  # as the controller does
        seen = self._drawing.draw(demo, rows) if self._drawing else self._seen(demo, rows, self._files[file].path)
        return Episode(
            actions=actions.reshape(len(rows) - 1, step, -1).astype(np.float32),
            start=f"{self._files[file].path.stem}/demo-{number}",
            behaviour="demonstration",
            task=self._worlds[file].task,
            **seen,
        )

    def _first(self) -> Demonstration:
        file, number = self._find(0)
        return self._files[file][number]

    def _find(self, index: int) -> tuple[int, int]:
        file = bisect.bisect_right(self._ends, index)
        return file, self._rows[file][index - (self._ends[file] - len(self._rows[file]))]

    def _seen(self, demo: Demonstration, rows: NDArray[np.int64], path: Path) -> dict[str, Any]:
        """Frames, proprio and labels of some rows of a demonstration that has pictures."""
        if demo.hand is None or demo.fingers is None:
            raise DataError(f"{path} has pictures but no pose of the hand; it is of another layout, leave it out")
        lacking = [c.name for c in self.spec.contract.cameras if c.name not in demo.pictures]
        if lacking:
            raise InputError(f"{path} has no pictures of {lacking[0]!r}, only {list(demo.pictures)}; choose --cameras")
        step = self.spec.contract.actions_per_frame
        before = np.arange(step)[None] - (step - 1) + rows[:, None]  # control steps that led to each row
        rewards = np.concatenate([[0.0] * int(not demo.after), demo.rewards])  # of the action that led to a row
        success = (rewards[rows] > 0).astype(np.float32)
        since = (rewards[before.clip(0)] > 0).max(1).astype(np.float32)
        since[0] = success[0]
        frames = {camera: picture[rows] for camera, picture in demo.pictures.items()}
        return {
            "frames": join(self.spec.contract, frames),
            "proprio": _proprio(demo.hand[rows], demo.fingers[rows]),
            "labels": {"reward": success, "success": success, "success_since": since},
        }


class _Drawing:
    """Draws the states of a demonstration that has no pictures."""

    def __init__(self, world: str, cameras: tuple[Any, ...], job: ImportJob) -> None:
        task = next((t for t in TASKS if world == f"robosuite_{t.lower()}"), None)
        if task is None:
            raise InputError(f"demonstrations of {world} without pictures cannot be drawn; only robosuite's own can")
        names = tuple(camera.name for camera in cameras)
        self._teacher = RobosuiteTeacher(RobosuiteConfig(task, names, job.size, job.frame_hz))
        self._teacher.reset(f"{task}/0", render=False)
        self.state_names = self._teacher.state_names

    def draw(self, demo: Demonstration, rows: NDArray[np.int64]) -> dict[str, Any]:
        teacher = self._teacher
        world, seen, proprio, states, success = teacher.world, [], [], [], []
        size = 1 + world.sim.model.nq + world.sim.model.nv
        if demo.states is None or demo.states.shape[1] != size:
            shape = None if demo.states is None else demo.states.shape
            raise DataError(f"states of shape {shape} are not of {teacher.config.task}, which has {size} numbers")
        for state in demo.states[rows]:
            world.begin(state)
            seen.append(join(teacher.contract, teacher.render()))
            proprio.append(proprio_of(world.env))
            states.append(teacher.state)
            success.append(float(world.success()))
        truth = np.array(success, np.float32)
        return {
            "frames": np.stack(seen),
            "proprio": np.stack(proprio),
            "state": np.stack(states).astype(np.float32),
            "labels": dict.fromkeys(LABELS, truth),
        }


def _rows(count: int, split: Split) -> range:
    """Numbers of a file's demonstrations that are of a split."""
    train = max(1, count * 9 // 10)
    return {"train": range(train), "test": range(train, count), "validation": range(0)}[split]


def _proprio(hand: NDArray[np.float64], fingers: NDArray[np.float64]) -> NDArray[np.float32]:
    """Proprio ``(T, 7)`` of the body's place and turn ``(T, 6)`` and the fingers' joints ``(T, 2)``."""
    attitude = Rotation.from_rotvec(hand[:, 3:]).as_matrix() @ BODY_TO_HAND @ DOWN.T
    turn = Rotation.from_matrix(attitude).as_rotvec()
    opening = np.abs(fingers[:, :1] - fingers[:, 1:])
    return np.concatenate([hand[:, :3], turn, opening], axis=1).astype(np.float32)
