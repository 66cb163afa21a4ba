"""Where episodes of a learned simulator stand: a value, so that copying, branching and saving need no care."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from world_model.interface import History
from world_model.noise import branch_seeds
from world_model.rules import check_saved


@dataclass(frozen=True)
class RolloutState:
    """Where B episodes stand; every tensor's first axis is the batch."""

    history: History
    seeds: Tensor  # (B,) int64 on the CPU: the episode seeds that key the noise
    frames: Tensor  # (B,) int64 on the CPU: index of each episode's last frame, 0 for its first

    def __len__(self) -> int:
        return len(self.seeds)

    def select(self, rows: Any) -> RolloutState:
        """The given rows (an index list, a boolean mask or a slice), in that order."""
        if not isinstance(rows, slice):
            rows = torch.as_tensor(np.asarray(rows))
        on_device = rows if isinstance(rows, slice) else rows.to(self.history.latents.device)
        return RolloutState(self.history.map(lambda t: t[on_device]), self.seeds[rows], self.frames[rows])

    @staticmethod
    def concatenate(states: list[RolloutState]) -> RolloutState:
        """Rows of several states after one another; histories must have one length."""
        if len(states) == 1:
            return states[0]
        histories = [s.history for s in states]
        parts = ([getattr(h, f.name) for h in histories] for f in fields(History))
        joined = History(*(None if part[0] is None else torch.cat(part) for part in parts))  # type: ignore[arg-type]
        return RolloutState(joined, torch.cat([s.seeds for s in states]), torch.cat([s.frames for s in states]))

    def replace(self, rows: NDArray[np.intp], other: RolloutState) -> RolloutState:
        """This state with ``rows`` taken from ``other`` (one row of it for each)."""
        order = np.arange(len(self))
        order[rows] = len(self) + np.arange(len(other))
        return RolloutState.concatenate([self, other]).select(order)

    def repeat(self, count: int, *, share_noise: bool = True) -> RolloutState:
        """``count`` copies of every row, side by side.

        With ``share_noise`` copies meet the same noise (common random numbers), so that they differ by their
        actions alone; without it each copy gets a seed of its own, derived from the row's seed.
        """
        copies = self.select(np.repeat(np.arange(len(self)), count))
        if share_noise:
            return copies
        seeds = np.concatenate([branch_seeds(seed, count) for seed in self.seeds.tolist()])
        return RolloutState(copies.history, torch.from_numpy(seeds), copies.frames)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Plain arrays by name, to be saved."""
        tensors = {f.name: getattr(self.history, f.name) for f in fields(History)}
        tensors |= {"seeds": self.seeds, "frames": self.frames}
        return {name: tensor.cpu().numpy().copy() for name, tensor in tensors.items() if tensor is not None}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], like: RolloutState, count: int) -> RolloutState:
        """Inverse of `to_arrays`; the arrays must have the form of ``like``'s, for ``count`` episodes.

        Raises:
            DataError: an array is missing, or is not what `to_arrays` would have given.
        """
        right = like.to_arrays()
        check_saved(arrays, right, count, nan=("memory",))
        tensors = {name: torch.from_numpy(np.array(arrays[name])) for name in right}
        seeds, frames = tensors.pop("seeds"), tensors.pop("frames")
        return cls(History(**tensors).map(lambda t: t.to(like.history.latents.device)), seeds, frames)
