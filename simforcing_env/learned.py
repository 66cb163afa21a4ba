"""The learned simulator behind an environment: one batched model call for all slots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from simforcing_env.backend import Frames, Start
from simforcing_env.sim_source import SimSource
from teachers.registry import make_teacher
from teachers.teacher import Teacher
from world_model.canvas import join
from world_model.contract import Contract
from world_model.errors import DataError, InputError, MissingExtraError
from world_model.interface import Heads
from world_model.pretrained import LearnedSimulator, Starts, task_of
from world_model.rollout import Rollout
from world_model.rollout_state import RolloutState
from world_model.runtime import Runtime

_TASKS, _SIM = "tasks", "sim/"
_KEPT = 256  # first frames that the teacher made, which takes long, for when the same starts are asked for again


class LearnedBackend:
    """Slots over one `Rollout`; copies of it share the networks and never each other's state."""

    def __init__(
        self, rollout: Rollout, heads: Heads, starts: Starts | None, checkpoint: str, drawn: Sequence[str]
    ) -> None:
        self.rollout, self.heads, self.starts, self.checkpoint = rollout, heads, starts, checkpoint
        self._drawn = tuple(drawn)
        self.sim: SimSource | None = None
        self.guidance = 1.0
        self.contract: Contract = rollout.contract
        self._state: RolloutState | None = None
        self._tasks = np.zeros(0, np.int64)  # of each slot's episode, in its suite
        self._teacher: Teacher | None = None  # made when a start is asked for that is not shipped
        self._first: dict[str, tuple[NDArray[np.uint8], NDArray[np.float32]]] = {}  # what it made, by the start's name

    @classmethod
    def of(
        cls,
        simulator: LearnedSimulator,
        runtime: Runtime,
        *,
        sampler_steps: int | None = None,
        history: int | None = None,
        drawn: Sequence[str] = (),
    ) -> LearnedBackend:
        """A backend of a loaded simulator; episodes are drawn from the starts ``drawn``.

        Raises:
            InputError: the checkpoint has no heads, or a number of steps below 1.
        """
        if simulator.heads is None:
            raise InputError(
                f"checkpoint {simulator.hash} has no heads and so no rewards; train them before making an environment"
            )
        sampler = simulator.sampler if sampler_steps is None else simulator.sampler.with_steps(sampler_steps)
        rollout = Rollout(
            runtime.prepare(simulator.model),
            simulator.codec,
            simulator.contract,
            sampler,
            simulator.history if history is None else history,
            runtime=runtime,
        )
        return cls(rollout, simulator.heads, simulator.starts, simulator.hash, drawn)

    @property
    def label_names(self) -> tuple[str, ...]:
        return self.heads.labels

    @property
    def identity(self) -> dict[str, Any]:
        return {
            "kind": "learned",
            "contract": self.contract.hash,
            "checkpoint": self.checkpoint,
            "history": self.rollout.history,
            "sampler_steps": self.rollout.sampler.steps,
            **({} if self.sim is None else {"sim_source": type(self.sim).__name__}),
        }

    def draw_start(self, generator: np.random.Generator) -> str:
        if not self._drawn:
            raise InputError(
                f"checkpoint {self.checkpoint} ships no starts; reset with options 'start', or 'image' and 'proprio'"
            )
        return self._drawn[generator.integers(len(self._drawn))]

    def reset(self, rows: NDArray[np.intp], starts: Sequence[Start], seeds: NDArray[np.int64]) -> Frames:
        tasks = np.array([task_of(s.name, self.contract.name) if s.task is None else s.task for s in starts], np.int64)
        pictures = [self._picture(start) for start in starts]
        images = np.stack([image for image, _ in pictures])
        proprio = np.clip(np.stack([values for _, values in pictures]), *self.contract.proprio_bounds())
        begun = self.rollout.start(images, proprio, seeds)
        if self.sim is not None:
            self.sim.reset(rows, [start.name for start in starts], seeds)
        latents, normalized = begun.history.latents[:, -1:], begun.history.proprio[:, -1:]
        unknown = np.zeros((len(rows), 1))
        read = self.rollout.read_state(latents[:, 0], normalized[:, 0])
        state = None if read is None else read[:, None]
        seen = self._judge(images[:, None], proprio[:, None], latents, normalized, unknown, tasks, state)
        if self._state is None:
            self._state, self._tasks = begun, tasks
        else:
            self._state = self._state.replace(rows, begun)
            self._tasks[rows] = tasks
        return seen

    def advance(self, rows: NDArray[np.intp], actions: NDArray[np.float32]) -> Frames:
        assert self._state is not None
        every = len(rows) == len(self._state)
        sim = None if self.sim is None else self.sim.advance(rows, actions)
        before = self._state if every else self._state.select(rows)
        part, new = self.rollout.advance(before, actions, sim, self.guidance)
        self._state = part if every else self._state.replace(rows, part)
        tasks = self._tasks[rows]
        seen = new.frames, new.proprio, new.latents, new.normalized_proprio
        return self._judge(*seen, new.uncertainty, tasks, new.state)

    def branch(self, row: int, count: int, share_noise: bool) -> LearnedBackend:
        assert self._state is not None
        copies = LearnedBackend(self.rollout, self.heads, self.starts, self.checkpoint, self._drawn)
        copies._state = self._state.select([row]).repeat(count, share_noise=share_noise)
        copies._tasks = self._tasks[[row]].repeat(count)
        copies.guidance = self.guidance
        copies.sim = None if self.sim is None else self.sim.branch(row, count, share_noise)
        return copies

    def save(self) -> dict[str, NDArray[Any]]:
        assert self._state is not None
        sim = {} if self.sim is None else {f"{_SIM}{name}": array for name, array in self.sim.save().items()}
        return {**self._state.to_arrays(), _TASKS: self._tasks.copy(), **sim}

    def load(self, arrays: Mapping[str, NDArray[Any]], count: int) -> None:
        tasks = np.asarray(arrays.get(_TASKS))
        if tasks.dtype != np.int64 or tasks.shape != (count,):
            raise DataError(
                f"the state's tasks are {tasks.dtype} {tasks.shape} but must be int64 ({count},); save it again"
            )
        others = {name: array for name, array in arrays.items() if name != _TASKS and not name.startswith(_SIM)}
        if self.sim is not None:
            self.sim.load({n.removeprefix(_SIM): a for n, a in arrays.items() if n.startswith(_SIM)}, count)
        self._state, self._tasks = self.rollout.load(others, count), tasks.copy()

    def close(self) -> None:
        self._state = None

    @torch.inference_mode()
    def _judge(
        self,
        images: NDArray[np.uint8],
        proprio: NDArray[np.float32],
        latents: Tensor,
        normalized: Tensor,
        uncertainty: NDArray[Any],
        tasks: NDArray[np.int64],
        state: Tensor | None,
    ) -> Frames:
        """Add what the heads make of ``latents`` ``(R, n, C, U, V)``, ``normalized`` proprio and state."""
        shape = images.shape[:2]
        of_frames = torch.from_numpy(tasks.repeat(shape[1])).to(latents.device)
        state = None if state is None else state.flatten(0, 1)
        outcome = self.heads.outcome(latents.flatten(0, 1), normalized.flatten(0, 1), of_frames, state)

        def numbers(tensor: Tensor) -> NDArray[np.float64]:
            return tensor.float().cpu().double().numpy().reshape(shape)

        labels = {name: numbers(outcome.values[:, index]) for index, name in enumerate(self.heads.labels)}
        return Frames(
            images, proprio, numbers(outcome.reward), numbers(outcome.success), uncertainty.astype(np.float64), labels
        )

    def _picture(self, start: Start) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
        """First frame ``(H, W, 3)`` and proprio ``(P,)``: the user's, a shipped one, or the teacher's."""
        if start.frame is not None and start.proprio is not None:
            return start.frame, start.proprio
        if self.starts is not None and start.name in self.starts.names:
            index = self.starts.index(start.name)
            return self.starts.frames[index], self.starts.proprio[index]
        if start.name in self._first:
            return self._first[start.name]
        try:
            self._teacher = self._teacher or make_teacher(self.contract.name, self.contract)
            seen = self._teacher.reset(start.name)
        except (MissingExtraError, InputError) as error:
            raise InputError(
                f"start {start.name!r} is not among the {len(self.starts or ())} that checkpoint {self.checkpoint} "
                f"ships, and the teacher cannot make it here: {error}"
            ) from error
        if len(self._first) >= _KEPT:
            del self._first[next(iter(self._first))]
        self._first[start.name] = join(self.contract, seen.frames), seen.proprio
        return self._first[start.name]
