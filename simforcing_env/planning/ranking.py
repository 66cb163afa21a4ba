"""How well a learned world ranks candidates: predicted against true ends, with and without common random numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from simforcing_env.chunk_env import ChunkVectorEnv
from simforcing_env.planning.values import Value
from simforcing_env.planning.world import Array, EnvWorld, Imagination, Moment
from simforcing_env.policies.diffusion import DiffusionPolicy
from simforcing_env.policies.policy import Observation

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Ranking:
    """Of M moments with K candidates each."""

    predicted: Numbers  # (M, K) the learned world's value at the end, common random numbers
    true: Numbers  # (M, K) the same value in the true simulator
    shared: Numbers  # (M, R, K) predicted again under R other noises, the same one for all candidates
    own: Numbers  # (M, R, K) the same with noise of its own for each candidate

    @property
    def pearson(self) -> Numbers:
        """Correlation over the candidates of each moment ``(M',)``; moments in which nothing differs are left out."""
        some = (self.predicted.std(1) > 1e-9) & (self.true.std(1) > 1e-9)
        pairs = zip(self.predicted[some], self.true[some], strict=True)
        return np.array([np.corrcoef(one, two)[0, 1] for one, two in pairs])

    @property
    def regret(self) -> Numbers:
        """What the true value of the chosen candidate falls short of the best one's, ``(M,)``."""
        rows = np.arange(len(self.true))
        return self.true.max(1) - self.true[rows, self.predicted.argmax(1)]

    @property
    def chance_regret(self) -> Numbers:
        """The same of a candidate drawn blindly."""
        return self.true.max(1) - self.true.mean(1)

    def variance_ratio(self) -> float:
        """Variance of differences between candidates over noises: with common random numbers over without."""

        def variance(values: Numbers) -> float:
            away = values - values[:, :, :1]  # to the first candidate
            return float(away[:, :, 1:].var(axis=1).mean())

        return variance(self.shared) / max(variance(self.own), 1e-12)


def rank_moments(
    env: ChunkVectorEnv,
    policy: DiffusionPolicy,
    imagine: Imagination,
    value: Value,
    observation: Observation,
    seeds: Sequence[int],
    count: int,
    length: int,
    repeats: int,
) -> Ranking:
    """Rank ``count`` proposals of the policy for the present moment of each slot of a true environment.

    Args:
        env: with ``success_threshold=1``.
        seeds: of the slots' imagined noise.
        repeats: R, further noises under which predictions are made again.
    """
    candidates = policy.sample(observation, count)[:, :, :length]
    moment = Moment.first(observation, policy.contract, seeds)

    def predict(moment: Moment, share: bool) -> Array:
        seen = imagine(moment).branch(count, share).step(candidates)
        return value(seen)[:, :, -1]

    predicted = predict(moment, True)
    true = value(EnvWorld(env).branch(count).step(candidates))[:, :, -1]
    again = [replace(moment, seeds=moment.seeds + 1 + number) for number in range(repeats)]
    shared, own = (np.stack([predict(other, share) for other in again], axis=1) for share in (True, False))
    return Ranking(*(part.astype(np.float64) for part in (predicted, true, shared, own)))


def joined(parts: Sequence[Ranking]) -> Ranking:
    """Rankings of several batches of moments as one."""
    names = ("predicted", "true", "shared", "own")
    return Ranking(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))
