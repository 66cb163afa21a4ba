"""Where an environment's simulated latents come from: the learned student itself, or the true simulator, live."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from teachers.appearance.latents import SimulationLatents
from teachers.appearance.worlds import make_sim
from teachers.teacher import Teacher
from world_model.canvas import join
from world_model.errors import DataError, InputError
from world_model.pretrained import Starts
from world_model.rollout import Rollout
from world_model.rollout_state import RolloutState

Source = Literal["none", "student", "teacher"]
_PAST = "past"


class SimSource(Protocol):
    """Slots of simulated episodes beside those of an environment; ``rows`` as in `Backend`."""

    def reset(self, rows: NDArray[np.intp], starts: Sequence[str], seeds: NDArray[np.int64]) -> None:
        """Begin episodes at the `sim` side of named starts.

        Raises:
            InputError: the world has no `sim` domain, or does not know a start.
            MissingExtraError: its simulator is not installed.
        """

    def advance(self, rows: NDArray[np.intp], actions: NDArray[np.float32]) -> Tensor:
        """Follow ``actions`` ``(R, n, a, A)``; latents ``(R, h + n, C, U, V)`` of the history and of n new frames."""

    def branch(self, row: int, count: int, share_noise: bool) -> SimSource:
        """``count`` copies of one slot."""

    def save(self) -> dict[str, NDArray[Any]]:
        """All slots as arrays."""

    def load(self, arrays: Mapping[str, NDArray[Any]], count: int) -> None:
        """Back to what `save` gave."""


class StudentSource:
    """The student generates the simulator's video too, from ``starts``; a true simulator draws others' first frames."""

    def __init__(
        self, rollout: Rollout, count: int, starts: Starts | None = None, teacher: Teacher | None = None
    ) -> None:
        self.rollout, self.count, self._starts, self._teacher = rollout, count, starts, teacher
        self._state: RolloutState | None = None

    def reset(self, rows: NDArray[np.intp], starts: Sequence[str], seeds: NDArray[np.int64]) -> None:
        frames, proprio = zip(*(self._first(name) for name in starts), strict=True)
        begun = self.rollout.start(np.stack(frames), np.stack(proprio), seeds)
        self._state = begun if self._state is None else self._state.replace(rows, begun)

    def advance(self, rows: NDArray[np.intp], actions: NDArray[np.float32]) -> Tensor:
        assert self._state is not None
        part = self._state.select(rows)
        after, made = self.rollout.advance(part, actions)
        self._state = self._state.replace(rows, after)
        new = made.latents if self.rollout.stride == 1 else made.sampled
        return torch.cat([part.history.latents, new], dim=1)

    def branch(self, row: int, count: int, share_noise: bool) -> StudentSource:
        assert self._state is not None
        copies = StudentSource(self.rollout, count, self._starts, self._teacher)
        copies._state = self._state.select([row]).repeat(count, share_noise=share_noise)
        return copies

    def save(self) -> dict[str, NDArray[Any]]:
        assert self._state is not None
        return self._state.to_arrays()

    def load(self, arrays: Mapping[str, NDArray[Any]], count: int) -> None:
        self._state = self.rollout.load(arrays, count)

    def _first(self, name: str) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
        """First frame ``(H, W, 3)`` and proprio ``(P,)`` of the `sim` side."""
        if self._starts is not None and name in self._starts.names:
            index = self._starts.index(name)
            return self._starts.frames[index], self._starts.proprio[index]
        contract = self.rollout.contract
        self._teacher = self._teacher or make_sim(contract.name, contract)
        seen = self._teacher.reset(name)
        return join(contract, seen.frames), seen.proprio


class TeacherSource:
    """The true simulator follows the actions and its frames are encoded; it needs no ``starts``."""

    def __init__(
        self, rollout: Rollout, count: int, starts: Starts | None = None, live: SimulationLatents | None = None
    ) -> None:
        if rollout.stride > 1:
            raise InputError(
                f'sim_source is "teacher" but the codec puts {rollout.stride} frames in a latent one, which a live '
                'simulator is not encoded with; use "student"'
            )
        self.rollout, self.count, self._live = rollout, count, live
        self._past: Tensor | None = None  # (K, h, C, U, V)

    def reset(self, rows: NDArray[np.intp], starts: Sequence[str], seeds: NDArray[np.int64]) -> None:
        first = self._simulators().reset(starts, rows)
        past = first[:, None].expand(-1, self.rollout.history, -1, -1, -1)
        if self._past is None:
            self._past = past.new_zeros((self.count, *past.shape[1:]))
        self._past[torch.from_numpy(rows)] = past

    def advance(self, rows: NDArray[np.intp], actions: NDArray[np.float32]) -> Tensor:
        assert self._past is not None
        known = self._past[torch.from_numpy(rows)]
        latents = torch.cat([known, self._simulators().advance(actions, rows)], dim=1)
        self._past[torch.from_numpy(rows)] = latents[:, -known.shape[1] :]
        return latents

    def branch(self, row: int, count: int, share_noise: bool) -> TeacherSource:
        assert self._past is not None
        copies = TeacherSource(self.rollout, count, live=self._simulators().branch(row, count))
        copies._past = self._past[[row]].repeat(count, 1, 1, 1, 1)
        return copies

    def save(self) -> dict[str, NDArray[Any]]:
        assert self._past is not None
        return {**self._simulators().snapshot(), _PAST: self._past.cpu().numpy().copy()}

    def load(self, arrays: Mapping[str, NDArray[Any]], count: int) -> None:
        past = np.asarray(arrays.get(_PAST))
        if past.dtype != np.float32 or past.ndim != 5 or past.shape[:2] != (count, self.rollout.history):
            raise DataError(
                f"the simulator's saved latents are {past.dtype} {past.shape} but must be float32 of {count} episodes "
                f"and {self.rollout.history} frames; take a new snapshot"
            )
        self._simulators().restore({name: array for name, array in arrays.items() if name != _PAST})
        self._past = torch.from_numpy(past.copy()).to(self.rollout.runtime.device)

    def _simulators(self) -> SimulationLatents:
        if self._live is None:
            rollout = self.rollout
            self._live = SimulationLatents.of_world(rollout.contract, rollout.codec, self.count, rollout.runtime.device)
        return self._live


SOURCES: Mapping[str, Callable[[Rollout, int, Starts | None], SimSource]] = {
    "student": StudentSource,
    "teacher": TeacherSource,
}
