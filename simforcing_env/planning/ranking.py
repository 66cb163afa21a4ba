"""How well a learned world ranks candidates: predicted against true values, with and without common random numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from simforcing_env.chunk_env import ChunkVectorEnv
from simforcing_env.planning.scoring import ScoreConfig, Scorer, Scores
from simforcing_env.planning.streams import Streams
from simforcing_env.planning.values import Value
from simforcing_env.planning.world import Array, EnvWorld, Imagination, Moment, World
from simforcing_env.policies.diffusion import DiffusionPolicy
from simforcing_env.policies.policy import Observation

Numbers = NDArray[np.float64]
_SALT = 67


@dataclass(frozen=True)
class Ranking:
    """Of M moments with K candidates each, all in the value's unit."""

    predicted: Numbers  # (M, K) what is compared: the learned world's value, less the penalty for doubt
    value: Numbers  # (M, K) without it
    doubt: Numbers  # (M, K) the error that the world expects of its value, about
    true: Numbers  # (M, K) the value in the true simulator, under the same noise
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
        return self.regret_of(self.predicted)

    def regret_of(self, predicted: Numbers) -> Numbers:
        """The same of the candidates that other predictions ``(M, K)`` would choose."""
        rows = np.arange(len(self.true))
        return self.true.max(1) - self.true[rows, predicted.argmax(1)]

    @property
    def chance_regret(self) -> Numbers:
        """The same of a candidate drawn blindly."""
        return self.true.max(1) - self.true.mean(1)

    @property
    def error(self) -> Numbers:
        """How far off each value is, ``(M, K)``."""
        return np.abs(self.value - self.true)

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
    config: ScoreConfig,
    repeats: int,
    state: Callable[[ChunkVectorEnv], Array] | None = None,
) -> Ranking:
    """Rank ``count`` proposals of the policy for the present moment of each slot of a true environment.

    Args:
        env: with ``success_threshold=1``.
        seeds: of the slots' noise, the imagined one and that of the policy when it goes on from a candidate's end.
        repeats: R, further noises under which predictions are made again.
        state: of `EnvWorld`.
    """
    candidates = policy.sample(observation, count)
    moment = Moment.first(observation, policy.contract, seeds)

    def score(world: World, number: int, **changes: object) -> Scores:
        scorer = Scorer(world, value, policy, replace(config, **changes))  # type: ignore[arg-type]
        return scorer(candidates, Streams(seeds, _SALT, number))

    first = score(imagine(moment), 0, share_noise=True)
    true = score(EnvWorld(env, state), 0, share_noise=True, penalty=0.0)
    again = [imagine(replace(moment, seeds=moment.seeds + number)) for number in range(1, repeats + 1)]
    shared, own = (
        np.stack([score(world, number, share_noise=share).total for number, world in enumerate(again, 1)], axis=1)
        for share in (True, False)
    )
    parts = first.total, first.value, value.doubt_unit * first.doubt, true.value, shared, own
    return Ranking(*(part.astype(np.float64) for part in parts))


def joined(parts: Sequence[Ranking]) -> Ranking:
    """Rankings of several batches of moments as one."""
    names = [field.name for field in fields(Ranking)]
    return Ranking(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))
