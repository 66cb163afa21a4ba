"""Simulation latents, live: a teacher of the `sim` domain follows the actions, and its frames are encoded.

They stand beside those that the learned student imagines itself (no teacher) and those of recorded pairs
(`world_model.data.latents.LatentCache` over their ``sim/`` folder).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from teachers.appearance.worlds import make_sim
from teachers.teacher import Teacher
from world_model.canvas import join
from world_model.contract import Contract
from world_model.errors import InputError
from world_model.interface import Codec


class SimulationLatents:
    """One teacher for each of K episodes; all their new frames are encoded in one call.

    Args:
        teachers: of one contract, in the `sim` domain.
        codec: the checkpoint's.
        device: where the codec lives.

    Raises:
        InputError: there is no teacher.
    """

    def __init__(self, teachers: Sequence[Teacher], codec: Codec, device: torch.device | str = "cpu") -> None:
        if not teachers:
            raise InputError("simulation latents need at least 1 teacher but 0 came; give one for each episode")
        self.teachers, self.codec, self.device = list(teachers), codec, torch.device(device)
        self.contract = self.teachers[0].contract

    @classmethod
    def of_world(cls, contract: Contract, codec: Codec, count: int, device: torch.device | str = "cpu") -> Self:
        """Simulation latents of ``count`` episodes of the contract's world.

        Raises:
            InputError: the world has no `sim` domain, or ``count`` is below 1.
            MissingExtraError: its simulator is not installed.
        """
        return cls([make_sim(contract.name, contract) for _ in range(count)], codec, device)

    def reset(self, starts: Sequence[str], rows: Sequence[int] | NDArray[np.intp] | None = None) -> Tensor:
        """Begin episodes at named starts; latents ``(B, C, U, V)`` of their first frames.

        Args:
            starts: one for each row.
            rows: numbers of the episodes, all of them by default.

        Raises:
            InputError: a start that the world does not know, or another number of starts than of rows.
        """
        chosen = self._rows(rows, len(starts), "starts")
        seen = [self.teachers[row].reset(start) for row, start in zip(chosen, starts, strict=True)]
        return self._encode(np.stack([join(self.contract, one.frames) for one in seen]))

    def advance(self, actions: NDArray[Any], rows: Sequence[int] | NDArray[np.intp] | None = None) -> Tensor:
        """Follow actions ``(B, n, a, A)`` in the contract's units; latents ``(B, n, C, U, V)`` of the n new frames.

        Raises:
            InputError: a wrong shape, NaN, out of bounds, or no reset yet.
        """
        checked = self.contract.check_actions(actions, ndim=4)
        chosen = self._rows(rows, len(checked), "rows of actions")
        frames = [
            [join(self.contract, self.teachers[row].step(action).observation.frames) for action in chunk]
            for row, chunk in zip(chosen, checked, strict=True)
        ]
        return self._encode(np.array(frames))

    def snapshot(self) -> dict[str, NDArray[Any]]:
        """All moments as named arrays; `numpy.savez` keeps them without pickle."""
        saved = enumerate(teacher.snapshot() for teacher in self.teachers)
        return {f"{row}/{name}": np.asarray(array) for row, snapshot in saved for name, array in snapshot.items()}

    def restore(self, snapshot: Mapping[str, NDArray[Any]]) -> None:
        """Go to the moments of a snapshot of as many episodes."""
        for row, teacher in enumerate(self.teachers):
            prefix = f"{row}/"
            teacher.restore({n.removeprefix(prefix): a for n, a in snapshot.items() if n.startswith(prefix)})

    def branch(self, row: int, count: int) -> SimulationLatents:
        """``count`` independent episodes that go on from the moment of one."""
        return SimulationLatents(self.teachers[row].branch(count), self.codec, self.device)

    def _rows(self, rows: Sequence[int] | NDArray[np.intp] | None, count: int, what: str) -> list[int]:
        chosen = list(range(len(self.teachers))) if rows is None else [int(row) for row in rows]
        if len(chosen) != count:
            raise InputError(f"simulation latents got {count} {what} for {len(chosen)} episodes; give one for each")
        return chosen

    def _encode(self, frames: NDArray[np.uint8]) -> Tensor:
        with torch.no_grad():
            return self.codec.encode(torch.from_numpy(frames).to(self.device))
