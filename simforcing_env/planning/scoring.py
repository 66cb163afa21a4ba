"""Candidates to values: imagine each, let the policy go on from its end, judge, and take off for doubt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from simforcing_env.planning.streams import Streams
from simforcing_env.planning.values import Value
from simforcing_env.planning.world import Array, Imagined, World
from simforcing_env.policies.policy import Observation, Task
from simforcing_env.spaces import PROPRIO_KEYS, image_keys
from world_model.canvas import split
from world_model.contract import Contract
from world_model.rules import FLAG, Number, Whole, settle


class Proposer(Protocol):
    """A policy that draws many chunks for one moment."""

    contract: Contract

    @property
    def name(self) -> str: ...
    @property
    def hash(self) -> str: ...
    @property
    def horizon(self) -> int: ...

    def reset(self, seeds: Sequence[int], tasks: Sequence[Task] = ()) -> None:
        """Begin episodes."""

    def sample(self, observation: Observation, count: int) -> Array:
        """``count`` chunks ``(B, count, n, A)`` in units, the policy's own choice first."""


class Continuer(Proposer, Protocol):
    """One that can also go on from imagined frames or states; `DiffusionPolicy` is one."""

    sample_steps: int
    """Steps of its sampler."""
    reads_state: int
    """Numbers of a world's state that it sees as well as it sees pictures; 0 where it looks at pictures alone."""

    def see(self, observation: Observation) -> Tensor:
        """What it sees, ``(N, F)``."""

    def see_state(self, proprio: Array, state: Array) -> Tensor:
        """The same of proprio ``(N, P)`` in units and of a world's state ``(N, S)``."""

    def chunks(self, sight: Tensor, noise: Tensor, steps: int | None = None) -> Tensor:
        """Normalised chunks ``(N, k, n, A)`` from noise of that shape, in so many steps of the sampler."""


@dataclass(frozen=True)
class ScoreConfig:
    """How far it looks, and how it weighs what it sees."""

    length: int = 16
    """Actions of a candidate that are imagined."""
    continuations: int = 1
    """Chunks of the policy that follow in imagination, so that what does not pay at once may pay later."""
    samples: int = 1
    """Futures of each candidate, which differ by what the policy does afterwards; their mean counts."""
    penalty: float = 0.5
    """How much of a future's doubt is taken off its value, both in the value's unit."""
    last: int = 4
    """Frames at an end over which the value is averaged; 0 takes the best frame, for goals that end an episode."""
    stopping: bool = True
    """The best of the ends after each chunk counts, for it can be left there; otherwise the last one."""
    share_noise: bool = True
    """Candidates of a moment meet the same noise (common random numbers), in the world and in the policy."""

    def __post_init__(self) -> None:
        settle(self, {"length": Whole(1, 1024), "continuations": Whole(0, 64), "penalty": Number(0, 1e6)})
        settle(self, {"samples": Whole(1, 1024)})
        settle(self, {"last": Whole(0, 1024), "share_noise": FLAG, "stopping": FLAG})


@dataclass(frozen=True)
class Scores:
    """Of B x K candidates."""

    total: Array  # (B, K) what is compared: the value less the penalty
    value: Array  # (B, K)
    doubt: Array  # (B, K) root of the expected squared error at the end
    imagined: Imagined  # of the candidates' own frames


class Scorer:
    """Values of candidates in a world; ``policy`` continues them where the config asks for it.

    Args:
        steps: of the policy's sampler in continuations; None keeps its own.
    """

    def __init__(
        self, world: World, value: Value, policy: Proposer, config: ScoreConfig, steps: int | None = None
    ) -> None:
        self.world, self.value, self.policy, self.config, self.steps = world, value, policy, config, steps

    def __call__(self, candidates: Array, noise: Streams) -> Scores:
        """``candidates`` ``(B, K, n, A)`` in units, of which ``config.length`` actions are tried."""
        config, many = self.config, candidates.shape[1] * self.config.samples
        rows = len(candidates)
        futures = self.world.branch(many, config.share_noise)
        seen = first = futures.step(candidates[:, :, : config.length].repeat(config.samples, axis=1))
        ends = [self._judge(first)]
        for _ in range(config.continuations):
            fresh = config.samples if config.share_noise else many
            drawn = noise.normal(fresh, self.policy.horizon, candidates.shape[3])
            drawn = np.tile(drawn, (1, many // fresh, 1, 1))
            seen = futures.step(self._follow(seen, drawn)[:, :, : config.length])
            ends.append(self._judge(seen))
        total, value, doubt = (np.stack(part) for part in zip(*ends, strict=True))  # (ends, B, K) each
        end = total.argmax(axis=0)[None] if config.stopping else np.full((1, rows, many), len(ends) - 1)
        parts = (np.take_along_axis(part, end, axis=0)[0] for part in (total, value, doubt))
        total, value, doubt = (part.reshape(rows, -1, config.samples).mean(-1) for part in parts)
        return Scores(total, value, doubt, first.every(config.samples))

    def _judge(self, seen: Imagined) -> tuple[Array, Array, Array]:
        """Total, value and doubt ``(B, K)`` at the end of what was seen."""
        values, last = self.value(seen), self.config.last
        value = values[:, :, -last:].mean(-1) if last else values.max(-1)
        doubt = np.sqrt(seen.uncertainty[:, :, -1])
        return value - self.config.penalty * self.value.doubt_unit * doubt, value, doubt

    def _follow(self, seen: Imagined, noise: NDArray[np.float32]) -> Array:
        """What the policy does at the end of what was seen: ``(B, K, n, A)``."""
        policy, rows = cast(Continuer, self.policy), noise.shape[0] * noise.shape[1]
        contract = policy.contract
        proprio = seen.proprio[:, :, -1].reshape(rows, -1)
        if seen.state is not None and policy.reads_state == seen.state.shape[-1]:
            sight = policy.see_state(proprio, seen.state[:, :, -1].reshape(rows, -1))
        else:
            assert seen.frames is not None, "a policy that looks at frames needs a world that draws them"
            frames = seen.frames[:, :, -1].reshape(rows, *seen.frames.shape[3:])
            views = split(contract, frames, image_keys(contract))
            sight = policy.see({**views, PROPRIO_KEYS["plain"]: proprio})
        flat = torch.from_numpy(np.array(noise).reshape(rows, 1, *noise.shape[2:]))
        chunks = policy.chunks(sight, flat, self.steps)[:, 0].numpy()
        return contract.denormalize_actions(chunks).reshape(noise.shape)
