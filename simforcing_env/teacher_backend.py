"""True simulators behind an environment, one for each slot, stepped in turn in this process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simforcing_env.backend import Frames, Start
from teachers.registry import teacher_module
from teachers.teacher import Teacher, TeacherObservation
from world_model.canvas import canvas_shape, join
from world_model.errors import DataError, InputError, SimforcingError


class TeacherBackend:
    """Slots of teachers of one world.

    Args:
        starts: names to draw episodes from; None draws random training starts.
        every_frame: render every frame of a chunk; without it only the one that becomes the observation, the
            others stay black.
    """

    def __init__(
        self, teachers: Sequence[Teacher], starts: Sequence[str] | None = None, every_frame: bool = True
    ) -> None:
        self.teachers, self.starts, self.every_frame = list(teachers), starts, every_frame
        self.contract = self.teachers[0].contract
        self._started = False  # whether every teacher has a state
        self.label_names = [n for n in self.teachers[0].label_names if n not in ("reward", "success")]

    @property
    def identity(self) -> dict[str, Any]:
        return {"kind": "teacher", "contract": self.contract.hash, "teacher": type(self.teachers[0]).__name__}

    def draw_start(self, generator: np.random.Generator) -> str:
        if self.starts is not None:
            return self.starts[int(generator.integers(len(self.starts)))]
        return str(teacher_module(self.contract.name).training_start(generator))

    def reset(self, rows: NDArray[np.intp], starts: Sequence[Start], seeds: NDArray[np.int64]) -> Frames:
        for start in starts:
            if start.frame is not None:
                raise InputError("reset got option 'image' but a true simulator cannot start from one; use 'start'")
        frames = self._empty(len(rows), 1)
        with self._whole_or_not():
            for index, (row, start) in enumerate(zip(rows, starts, strict=True)):
                seen = self.teachers[row].reset(start.name)
                self._record(frames, (index, 0), seen, self.teachers[row].labels())
        return frames

    def advance(self, rows: NDArray[np.intp], actions: NDArray[np.float32]) -> Frames:
        frames = self._empty(len(rows), actions.shape[1])
        for index, row in enumerate(rows):
            ended = False
            for frame, action in enumerate(actions[index]):
                taken = self.teachers[row].step(action, render=self.every_frame)
                self._record(frames, (index, frame), taken.observation, taken.labels)
                succeeded = taken.labels["success"] > 0.5 and not ended
                if not self.every_frame and (succeeded or frame == len(actions[index]) - 1):
                    frames.images[index, frame] = join(self.contract, self.teachers[row].render())
                ended = ended or succeeded
        return frames

    def branch(self, row: int, count: int, share_noise: bool) -> TeacherBackend:
        copies = TeacherBackend(self.teachers[row].branch(count), self.starts, self.every_frame)
        copies._started = True
        return copies

    def save(self) -> dict[str, NDArray[Any]]:
        saved = enumerate(teacher.snapshot() for teacher in self.teachers)
        return {f"{row}/{name}": np.asarray(array) for row, snapshot in saved for name, array in snapshot.items()}

    def load(self, arrays: Mapping[str, NDArray[Any]], count: int) -> None:
        try:
            with self._whole_or_not():
                self._restore(arrays)
        except SimforcingError:
            raise
        except (LookupError, TypeError, ValueError, OverflowError) as error:
            raise DataError(f"the saved state of a true simulator is damaged ({error}); take a new snapshot") from error

    @contextmanager
    def _whole_or_not(self) -> Iterator[None]:
        """After an error all teachers are as they were."""
        before = self.save() if self._started else None
        try:
            yield
        except Exception:
            if before is not None:
                self._restore(before)
            raise
        self._started = True

    def _restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        for row, teacher in enumerate(self.teachers):
            prefix = f"{row}/"
            teacher.restore({n.removeprefix(prefix): a for n, a in arrays.items() if n.startswith(prefix)})

    def close(self) -> None:
        self.teachers = []

    def _empty(self, count: int, length: int) -> Frames:
        shape = count, length
        return Frames(
            images=np.zeros((*shape, *canvas_shape(self.contract)), np.uint8),
            proprio=np.zeros((*shape, self.contract.proprio_dim), np.float32),
            rewards=np.zeros(shape),
            success=np.zeros(shape),
            uncertainty=np.zeros(shape),
            labels={name: np.zeros(shape) for name in self.label_names},
        )

    def _record(
        self, frames: Frames, at: tuple[int, int], seen: TeacherObservation, labels: Mapping[str, float]
    ) -> None:
        if seen.frames:
            frames.images[at] = join(self.contract, seen.frames)
        low, high = self.contract.proprio_bounds()
        frames.proprio[at] = np.clip(seen.proprio, low, high)
        frames.rewards[at], frames.success[at] = labels["reward"], labels["success"]
        for name in self.label_names:
            frames.labels[name][at] = labels[name]
