"""Planners: ways to look for good candidates, all of them over one function from candidates to scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from simforcing_env.planning.scoring import Scores
from simforcing_env.planning.streams import Streams
from simforcing_env.planning.world import Array
from world_model.contract import Contract
from world_model.errors import InputError
from world_model.rules import FLAG, Number, Whole, settle

Score = Callable[[Array, Streams], Scores]
"""Candidates ``(B, K, n, A)`` in units to their scores."""
Refine = Callable[[Array], Array]
"""Candidates ``(B, K, n, A)`` to better ones near by, where the world is differentiable."""


@dataclass(frozen=True)
class SearchConfig:
    """How candidates are found; which fields count depends on the planner."""

    count: int = 50
    """K, candidates of a moment and a round."""
    rounds: int = 3
    """Of CEM, iCEM and MPPI."""
    elites: float = 0.15
    """Share of the candidates that the next round is drawn around."""
    spread: float = 0.06
    """First standard deviation of CEM's targets beside the policy's, in [-1, 1]; 0.06 is 15 px of Push-T."""
    smoothness: float = 0.85
    """Of iCEM's and MPPI's noise: correlation of one action's with the next one's."""
    kept: float = 0.3
    """Share of the elites that iCEM takes along to the next round."""
    temperature: float = 0.2
    """Of MPPI's weights, in the spread of scores."""
    stay: bool = True
    """Holding still is a candidate too, so that what is good already is left alone."""
    filtered: float = 0.0
    """Candidates that differ from a better one by less than this (RMS, in [-1, 1]) do not count as elites."""

    def __post_init__(self) -> None:
        settle(self, {"count": Whole(1, 65_536), "rounds": Whole(1, 100), "elites": Number(0.01, 1), "stay": FLAG})
        settle(self, {"spread": Number(0, 2), "smoothness": Number(0, 0.999), "kept": Number(0, 1)})
        settle(self, {"temperature": Number(1e-3, 100), "filtered": Number(0, 2)})


@dataclass(frozen=True)
class Plan:
    """What was found for B moments."""

    actions: Array  # (B, n, A) in units
    candidates: Array  # (B, K', n, A) of the last round
    scores: Scores  # of these
    chosen: NDArray[np.intp]  # (B,) which of them


@dataclass(frozen=True)
class Search:
    """What planners work with."""

    score: Score
    noise: Streams
    contract: Contract
    config: SearchConfig
    refine: Refine | None = None

    @property
    def apart(self) -> float:
        """`SearchConfig.filtered` in the actions' units."""
        low, high = self.contract.action_bounds()
        return self.config.filtered * float((high - low).mean()) / 2

    def with_config(self, **changes: float) -> Search:
        """The same with other settings."""
        return replace(self, config=replace(self.config, **changes))  # type: ignore[arg-type]

    def best(self, candidates: Array) -> Plan:
        """Score candidates and take the best of each moment."""
        scores = self.score(candidates, self.noise)
        chosen = scores.total.argmax(axis=1)
        return Plan(candidates[np.arange(len(chosen)), chosen], candidates, scores, chosen)


Planner = Callable[[Search, Array, Array], Plan]
"""From proposals ``(B, K, n, A)`` of the policy, the policy's own choice first, and the hand's place ``(B, A)``."""


def rank(search: Search, proposals: Array, hand: Array) -> Plan:
    """The best of the policy's own proposals ``(B, K, n, A)``; IRASim's planner."""
    return search.best(_with_stay(proposals, hand, search))


def cem(search: Search, proposals: Array, hand: Array) -> Plan:
    """Cross-entropy method: rounds of independent Gaussian targets around the elites, at first around the policy."""
    return _rounds(search.with_config(smoothness=0.0, kept=0.0), proposals, hand, _elite_mean)


def icem(search: Search, proposals: Array, hand: Array) -> Plan:
    """CEM with smooth noise, and elites that stay for the next round."""
    return _rounds(search, proposals, hand, _elite_mean)


def mppi(search: Search, proposals: Array, hand: Array) -> Plan:
    """Path integral: smooth noise around a mean of all candidates, weighted by the exponential of their scores."""
    return _rounds(search.with_config(kept=0.0), proposals, hand, _weighted_mean)


def gradient(search: Search, proposals: Array, hand: Array) -> Plan:
    """The best proposals, moved up the gradient of the world; what got worse by it is not taken.

    Raises:
        InputError: a world or a value that gives no gradients.
    """
    if search.refine is None:
        raise InputError("planner 'gradient' needs value 'points' and a world without pictures; choose another planner")
    plan = rank(search, proposals, hand)
    count = max(1, round(search.config.elites * search.config.count))
    elites = _elites(plan.candidates, plan.scores.total, count, search.apart)
    return search.best(np.concatenate([elites, search.refine(elites)], axis=1))


def _rounds(
    search: Search,
    proposals: Array,
    hand: Array,
    centre: Callable[[Array, Array, SearchConfig], tuple[Array, Array]],
) -> Plan:
    """Warm start by the policy's proposals, then rounds of noise about a centre; the best one ever seen is taken."""
    config, (low, high) = search.config, search.contract.action_bounds()
    half = (high - low) / 2
    plan = search.best(_with_stay(proposals, hand, search))
    spread = np.broadcast_to(config.spread * half, proposals.shape[2:]).astype(np.float32)
    deviation: Array = np.broadcast_to(spread, (len(proposals), *spread.shape))
    for number in range(config.rounds):
        middle, found = centre(plan.candidates, plan.scores.total, config)
        if number:
            deviation = ((deviation + np.minimum(found, deviation)) / 2).astype(np.float32)
        noise = _smooth(search.noise.normal(*proposals.shape[1:]), config.smoothness)
        fresh = np.clip(middle[:, None] + deviation[:, None] * noise, low, high)
        kept = max(1, round(config.kept * config.elites * config.count))
        best = _elites(plan.candidates, plan.scores.total, kept, search.apart)
        plan = search.best(np.concatenate([best, middle[:, None], fresh], axis=1).astype(np.float32))
    return plan


def _with_stay(proposals: Array, hand: Array, search: Search) -> Array:
    """The proposals, and holding still: no move, or the place where the hand is; else as the policy would begin."""
    if not search.config.stay:
        return proposals
    still, dims = proposals[:, 0, 0].copy(), search.contract.actions
    places = all(dim.kind == "absolute" for dim in dims) and hand.shape[1] >= len(dims)
    for index, dim in enumerate(dims):
        if dim.kind == "relative":
            still[:, index] = 0
        elif places:
            still[:, index] = hand[:, index]
    chunk = np.broadcast_to(still[:, None, None], (len(still), 1, *proposals.shape[2:]))
    return np.concatenate([proposals, chunk], axis=1).astype(np.float32)


def _elites(candidates: Array, totals: Array, count: int, apart: float) -> Array:
    """The best ``count`` of each moment ``(B, count, n, A)``, those ``apart`` from better ones first."""
    picked = []
    for own, total in zip(candidates, totals, strict=True):
        order = np.argsort(-total, kind="stable")
        taken: list[int] = []
        for index in order:
            near = any(np.sqrt(np.square(own[index] - own[other]).mean()) < apart for other in taken)
            if not near:
                taken.append(int(index))
            if len(taken) == count:
                break
        taken += [int(i) for i in order if i not in taken][: count - len(taken)]
        picked.append(own[taken])
    return np.stack(picked)


def _elite_mean(candidates: Array, totals: Array, config: SearchConfig) -> tuple[Array, Array]:
    """Mean and deviation ``(B, n, A)`` of the elites."""
    count = min(candidates.shape[1], max(2, round(config.elites * config.count)))
    elites = _elites(candidates, totals, count, 0.0)
    return elites.mean(axis=1), elites.std(axis=1)


def _weighted_mean(candidates: Array, totals: Array, config: SearchConfig) -> tuple[Array, Array]:
    """The same with weights for all candidates."""
    spread = np.maximum(totals.std(axis=1, keepdims=True), 1e-9)
    weight = np.exp((totals - totals.max(axis=1, keepdims=True)) / (config.temperature * spread))
    weight = (weight / weight.sum(axis=1, keepdims=True))[..., None, None]
    middle = (weight * candidates).sum(axis=1)
    deviation = np.sqrt((weight * np.square(candidates - middle[:, None])).sum(axis=1))
    return middle.astype(np.float32), deviation.astype(np.float32)


def _smooth(noise: Array, correlation: float) -> Array:
    """White noise ``(B, K, n, A)`` to noise of unit variance that changes slowly along the chunk."""
    for step in range(1, noise.shape[2]):
        noise[:, :, step] = correlation * noise[:, :, step - 1] + np.sqrt(1 - correlation**2) * noise[:, :, step]
    return noise


PLANNERS: Mapping[str, Planner] = MappingProxyType(
    {"rank": rank, "cem": cem, "icem": icem, "mppi": mppi, "gradient": gradient}
)
"""By name."""


def find_planner(name: str) -> Planner:
    """A planner by its name.

    Raises:
        InputError: no such planner.
    """
    if name not in PLANNERS:
        raise InputError(f"there is no planner {name!r}; the planners are {', '.join(PLANNERS)}")
    return PLANNERS[name]
