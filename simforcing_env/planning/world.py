"""Where candidates are tried out: futures of B moments, K each, in any learned or true environment."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from simforcing_env.chunk_env import ChunkVectorEnv
from simforcing_env.policies.policy import Observation
from simforcing_env.spaces import PROPRIO_KEYS, image_keys
from world_model.canvas import join
from world_model.contract import Contract

Array = NDArray[np.float32]


@dataclass(frozen=True)
class Moment:
    """What is known of B episodes: the last T frames, and the actions between them."""

    observation: Observation
    """The present one, of a vector environment with plain keys."""
    proprio: Array  # (B, T, P) in units, the present one last
    actions: Array  # (B, T - 1, a, A) in units
    seeds: NDArray[np.int64]  # (B,) of the imagined noise
    tasks: NDArray[np.int64]  # (B,) numbers in their suite

    @classmethod
    def first(
        cls, observation: Observation, contract: Contract, seeds: Sequence[int], tasks: Sequence[int] = ()
    ) -> Moment:
        """The beginning of episodes, of task 0 where no ``tasks`` are given."""
        proprio = np.asarray(observation[PROPRIO_KEYS["plain"]], np.float32)
        none = np.zeros((len(proprio), 0, contract.actions_per_frame, contract.action_dim), np.float32)
        numbers = np.asarray(tasks if len(tasks) else [0] * len(proprio), np.int64)
        return cls(observation, proprio[:, None], none, np.asarray(seeds, np.int64), numbers)

    def __len__(self) -> int:
        return len(self.proprio)


@dataclass(frozen=True)
class Imagined:
    """n frames of B x K futures."""

    proprio: Array  # (B, K, n, P) in units
    success: Array  # (B, K, n) probability
    uncertainty: Array  # (B, K, n) expected squared error, in the world's own measure; 0 for a true simulator
    labels: Mapping[str, Array]  # (B, K, n) each: what heads read, or the truth
    state: Array | None = None  # (B, K, n, S) where the world knows the model's state
    frames: NDArray[np.uint8] | None = None  # (B, K, n, H, W, 3) canvases where they are drawn; the last at least

    def every(self, step: int) -> Imagined:
        """The first future, and every ``step``-th after it."""
        if step == 1:
            return self
        return Imagined(
            self.proprio[:, ::step],
            self.success[:, ::step],
            self.uncertainty[:, ::step],
            {name: values[:, ::step] for name, values in self.labels.items()},
            None if self.state is None else self.state[:, ::step],
            None if self.frames is None else self.frames[:, ::step],
        )


class Futures(Protocol):
    """K copies of each of B moments, which go on from step to step."""

    def step(self, actions: Array) -> Imagined:
        """Go on by ``actions`` ``(B, K, n, A)`` in units."""


class World(Protocol):
    """B moments that can be branched."""

    contract: Contract

    def branch(self, count: int, share_noise: bool = True) -> Futures:
        """``count`` futures of each moment; with ``share_noise`` those of a moment differ by their actions alone."""


Imagination = Callable[[Moment], World]
"""Makes a world of what is known of episodes."""


class EnvWorld:
    """The present moment of all slots of an environment, learned or true: planning in what the actions will meet.

    The environment's ``success_threshold`` should be 1 where futures are to run on after a success.

    Args:
        state: tells the state ``(N, S)`` of an environment's slots as models carry it, where that is known; plans then
            go by it, and read nothing from pictures.
    """

    def __init__(self, env: ChunkVectorEnv, state: Callable[[ChunkVectorEnv], Array] | None = None) -> None:
        self.env, self.contract, self.state = env, env.contract, state

    def branch(self, count: int, share_noise: bool = True) -> EnvFutures:
        """See `World.branch`."""
        return EnvFutures(self, count, share_noise)


class EnvFutures:
    """Branches of each slot; every step has the length of the first one."""

    def __init__(self, world: EnvWorld, count: int, share_noise: bool) -> None:
        self.env, self.state, self.contract = world.env, world.state, world.contract
        self.count, self.share_noise = count, share_noise
        self._branches: list[ChunkVectorEnv] = []

    def step(self, actions: Array) -> Imagined:
        """See `Futures.step`."""
        if not self._branches:
            options = {"share_noise": self.share_noise, "chunk": actions.shape[2]}
            self._branches = [self.env.branch(self.count, index=row, **options) for row in range(self.env.num_envs)]
        cameras, records, pictures, states = self.contract.cameras, [], [], []
        for branch, chosen in zip(self._branches, actions, strict=True):
            observation, *_, infos = branch.step(chosen.reshape(branch.action_space.shape))
            keys = image_keys(self.contract, single="frames")
            if keys[0] in infos:
                frames = {c.name: infos[k] for c, k in zip(cameras, keys, strict=True)}
            else:  # only the last one is drawn
                last = image_keys(self.contract)
                frames = {c.name: observation[k][:, None] for c, k in zip(cameras, last, strict=True)}
            pictures.append(join(self.contract, frames))
            records.append(infos)
            states += [] if self.state is None else [self.state(branch)[:, None]]

        def every(name: str) -> Array:
            return np.stack([infos[name] for infos in records]).astype(np.float32)

        names = [name for name in records[0]["labels"] if not name.startswith("_")]
        labels = {name: np.stack([r["labels"][name] for r in records]).astype(np.float32) for name in names}
        known = np.stack(states) if states else None
        return Imagined(
            every("proprio"), every("success"), every("uncertainty"), labels, state=known, frames=np.stack(pictures)
        )
