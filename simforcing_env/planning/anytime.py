"""Planning against the clock: candidates come in blocks, and none is begun that would not be ready in time."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from torch import Tensor

from simforcing_env.planning.scoring import Continuer, ScoreConfig, Scorer, Scores
from simforcing_env.planning.search import Plan
from simforcing_env.planning.streams import Streams
from simforcing_env.planning.values import Value
from simforcing_env.planning.world import Array, Imagined, World
from simforcing_env.policies.policy import Observation

BLOCK = 10  # candidates that are tried together
LEAST = 2  # blocks that a setting must have time for
_SLACK = 1.3  # of a measured time, for it varies


@dataclass(frozen=True)
class Setting:
    """How well a block is looked at."""

    steps: int  # of the policy's sampler
    continuations: int
    length: int


@dataclass
class Pace:
    """Seconds of a block under a setting, as measured; the worst of late counts."""

    worst: float = 0.0
    times: list[float] = field(default_factory=list)

    def add(self, seconds: float) -> None:
        """One more measurement."""
        self.times = [*self.times[-9:], seconds]
        self.worst = max(self.times)


class Budget:
    """Chooses sampler steps, horizon and the number of candidates from what they have cost so far."""

    def __init__(
        self,
        policy: Continuer,
        value: Value,
        score: ScoreConfig,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.policy, self.value, self.score, self.clock = policy, value, score, clock
        steps, length = policy.sample_steps, score.length
        chains = range(score.continuations, -1, -1)
        self.settings = [Setting(steps, chain, length) for chain in chains]
        self.settings += [Setting(max(1, steps // 2), 0, length), Setting(1, 0, max(1, length // 2))]
        self.paces: dict[Setting, Pace] = {}

    def plan(self, observation: Observation, world: World, noise: Streams, end: float) -> Plan:
        """The best of as many proposals as there is time for until ``end`` of the clock.

        Where not even the quickest block is known to fit, the policy's own choice is taken unseen, in one step of its
        sampler; where nothing was measured yet, the quickest setting is taken.
        """
        sight = self.policy.see(observation)
        seeds = noise.seeds()
        setting = self._choose(end - self.clock())
        if setting == self.settings[-1] and setting in self.paces and not self._fits(setting, end):
            return self._unseen(sight, noise)
        found: list[tuple[Array, Scores]] = []
        while not found or self._fits(setting, end):
            began = self.clock()
            found.append(self._block(sight, world, setting, noise, seeds))
            self.paces.setdefault(setting, Pace()).add(self.clock() - began)
        candidates = np.concatenate([c for c, _ in found], axis=1)
        scores = _joined([s for _, s in found])
        chosen = scores.total.argmax(axis=1)
        return Plan(candidates[np.arange(len(chosen)), chosen], candidates, scores, chosen)

    def _choose(self, seconds: float) -> Setting:
        """The best setting of which some blocks fit, the quickest if none is known to."""
        for setting in self.settings:
            pace = self.paces.get(setting)
            if pace is not None and LEAST * _SLACK * pace.worst <= seconds:
                return setting
        return self.settings[-1]

    def _fits(self, setting: Setting, end: float) -> bool:
        return self.clock() + _SLACK * self.paces[setting].worst < end

    def measure(self, observation: Observation, world: World, repeats: int = 2) -> None:
        """Time a block of every setting, the first one of each uncounted; without it only the quickest is known."""
        sight = self.policy.see(observation)
        seeds = list(range(len(sight)))
        noise = Streams(seeds, 0)
        for setting in self.settings:
            for number in range(repeats + 1):
                began = self.clock()
                self._block(sight, world, setting, noise, seeds)
                if number:
                    self.paces.setdefault(setting, Pace()).add(self.clock() - began)

    def _unseen(self, sight: Tensor, noise: Streams) -> Plan:
        """One proposal, of which nothing is imagined."""
        candidates = self._propose(sight, noise, 1, 1)
        nothing = np.zeros((len(sight), 1), np.float32)
        frames = np.zeros((len(sight), 1, 0), np.float32)
        imagined = Imagined(np.zeros((*frames.shape, self.policy.contract.proprio_dim), np.float32), frames, frames, {})
        return Plan(
            candidates[:, 0], candidates, Scores(nothing, nothing, nothing, imagined), np.zeros(len(sight), int)
        )

    def _propose(self, sight: Tensor, noise: Streams, count: int, steps: int) -> Array:
        drawn = torch.from_numpy(noise.normal(count, self.policy.horizon, self.policy.contract.action_dim))
        return self.policy.contract.denormalize_actions(self.policy.chunks(sight, drawn, steps).numpy())

    def _block(
        self, sight: Tensor, world: World, setting: Setting, noise: Streams, seeds: list[int]
    ) -> tuple[Array, Scores]:
        """Propose, imagine and judge; all blocks of a plan meet the same noise after their own actions."""
        candidates = self._propose(sight, noise, BLOCK, setting.steps)
        config = replace(self.score, length=setting.length, continuations=setting.continuations)
        score = Scorer(world, self.value, self.policy, config, setting.steps)
        return candidates, score(candidates, Streams(seeds, 1))


def _joined(parts: list[Scores]) -> Scores:
    """Scores of several blocks as one; frames are left out where they are many."""

    def every(arrays: list[Array]) -> Array:
        return np.concatenate(arrays, axis=1)

    seen = [part.imagined for part in parts]
    labels = {name: every([i.labels[name] for i in seen]) for name in seen[0].labels}
    states = [i.state for i in seen if i.state is not None]
    imagined = Imagined(
        every([i.proprio for i in seen]),
        every([i.success for i in seen]),
        every([i.uncertainty for i in seen]),
        labels,
        every(states) if len(states) == len(seen) else None,
    )
    total, value, doubt = (every([getattr(part, name) for part in parts]) for name in ("total", "value", "doubt"))
    return Scores(total, value, doubt, imagined)
