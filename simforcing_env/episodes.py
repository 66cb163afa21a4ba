"""The bookkeeping of ``num_envs`` episodes side by side: what the environment knows and the backend does not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from simforcing_env.backend import Frames
from simforcing_env.infos import objects
from world_model.errors import DataError
from world_model.noise import branch_seeds
from world_model.rules import check_saved, shown

_ARRAYS = ("images", "proprio", "seeds", "elapsed", "terminated", "truncated")


@dataclass
class Episodes:
    """One entry for each environment; ``images`` and ``proprio`` are the present observations."""

    images: NDArray[np.uint8]  # (K, H, W, 3)
    proprio: NDArray[np.float32]  # (K, P)
    seeds: NDArray[np.int64]  # (K,) of the present episodes
    elapsed: NDArray[np.int64]  # (K,) calls of step
    terminated: NDArray[np.bool_]  # (K,)
    truncated: NDArray[np.bool_]  # (K,)
    starts: list[str]
    rngs: list[np.random.Generator | None]  # draw the seeds of episodes that were not given one
    labels: dict[str, NDArray[np.float64]]  # (K,) each, of the observations

    @classmethod
    def empty(cls, num_envs: int, frame_shape: tuple[int, ...], proprio_dim: int, labels: Iterable[str]) -> Episodes:
        return cls(
            images=np.zeros((num_envs, *frame_shape), np.uint8),
            proprio=np.zeros((num_envs, proprio_dim), np.float32),
            seeds=np.zeros(num_envs, np.int64),
            elapsed=np.zeros(num_envs, np.int64),
            terminated=np.zeros(num_envs, np.bool_),
            truncated=np.zeros(num_envs, np.bool_),
            starts=[""] * num_envs,
            rngs=[None] * num_envs,
            labels={name: np.zeros(num_envs) for name in labels},
        )

    @property
    def ended(self) -> NDArray[np.bool_]:
        return self.terminated | self.truncated

    def seed(self, rows: NDArray[np.intp], seeds: Sequence[int | None]) -> None:
        """Give episodes their seeds; where there is none, the environment's own stream draws one."""
        for row, seed in zip(rows, seeds, strict=True):
            rng = self.rngs[row]
            if seed is not None or rng is None:
                rng = self.rngs[row] = gym.utils.seeding.np_random(seed)[0]
            self.seeds[row] = rng.integers(2**31) if seed is None else seed

    def begin(self, rows: NDArray[np.intp], starts: Sequence[str], frames: Frames) -> None:
        for row, start in zip(rows, starts, strict=True):
            self.starts[row] = start
        self.elapsed[rows] = 0
        self.terminated[rows] = self.truncated[rows] = False
        self.show(rows, frames, np.zeros(len(rows), np.int64))

    def show(self, rows: NDArray[np.intp], frames: Frames, at: NDArray[np.int64]) -> None:
        """Make frame ``at[i]`` of each row its observation."""
        index = np.arange(len(rows)), at
        self.images[rows], self.proprio[rows] = frames.images[index], frames.proprio[index]
        for name, values in frames.labels.items():
            self.labels[name][rows] = values[index]

    def facts(self, rows: NDArray[np.intp]) -> dict[str, Any]:
        """What infos say of present observations, whatever led to them."""
        facts: dict[str, Any] = {name: values[rows] for name, values in self.labels.items()}
        return facts | {"start": objects([self.starts[row] for row in rows]), "episode_seed": self.seeds[rows]}

    def repeat(self, row: int, count: int) -> Episodes:
        """``count`` copies of one entry; their later seeds are their own."""
        arrays = {name: np.repeat(getattr(self, name)[row : row + 1], count, 0) for name in _ARRAYS}
        rngs = [np.random.Generator(np.random.PCG64(int(seed))) for seed in branch_seeds(int(self.seeds[row]), count)]
        labels = {name: np.repeat(values[row : row + 1], count) for name, values in self.labels.items()}
        return Episodes(**arrays, starts=[self.starts[row]] * count, rngs=list(rngs), labels=labels)

    def save(self) -> tuple[list[dict[str, Any]], dict[str, NDArray[Any]]]:
        """JSON-able values of each entry, and arrays."""
        slots = [
            {"start": start, "rng": rng.bit_generator.state if rng else None}
            for start, rng in zip(self.starts, self.rngs, strict=True)
        ]
        return slots, {name: array.copy() for name, array in self._arrays().items()}

    def load(self, slots: list[dict[str, Any]], arrays: Mapping[str, NDArray[Any]]) -> Episodes:
        """Inverse of `save`, for as many episodes of the same form.

        Raises:
            DataError: an array or slot that `save` would not have written.
        """
        check_saved(arrays, self._arrays(), len(self.starts))
        mine = {name: np.array(arrays[name]) for name in self._arrays()}
        labels = {name: mine.pop(f"label/{name}") for name in self.labels}
        return Episodes(
            **mine, starts=[_start(slot) for slot in slots], rngs=[_generator(slot) for slot in slots], labels=labels
        )

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return {name: getattr(self, name) for name in _ARRAYS} | {f"label/{n}": v for n, v in self.labels.items()}


def _start(slot: Any) -> str:
    if not isinstance(slot, dict) or not isinstance(slot.get("start"), str):
        raise DataError(f"the saved episode {shown(slot)} has no start; take a new snapshot")
    return str(slot["start"])


def _generator(slot: dict[str, Any]) -> np.random.Generator | None:
    if slot.get("rng") is None:
        return None
    generator = np.random.Generator(np.random.PCG64())
    try:
        generator.bit_generator.state = slot["rng"]
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise DataError(f"a saved random stream is damaged ({error}); take a new snapshot") from error
    return generator
