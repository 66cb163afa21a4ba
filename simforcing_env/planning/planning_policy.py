"""A policy that plans: it imagines what its base policy's proposals lead to, and does the best of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import cast

import numpy as np

from simforcing_env.planning.anytime import Budget
from simforcing_env.planning.gradient import GradientConfig, refine
from simforcing_env.planning.model_world import ForeseenWorld
from simforcing_env.planning.scoring import Continuer, Proposer, ScoreConfig, Scorer
from simforcing_env.planning.search import Plan, Refine, Search, SearchConfig, find_planner
from simforcing_env.planning.streams import Streams
from simforcing_env.planning.values import PointValue, Value
from simforcing_env.planning.world import Array, Imagination, Moment, World
from simforcing_env.policies.policy import Observation, Task, policy_hash
from world_model.errors import InputError
from world_model.rules import Whole, follow

_SALT = 66
_KNOWN = 4  # frames before the present that a world is told


@dataclass(frozen=True)
class PlanningConfig:
    """How a `PlanningPolicy` plans."""

    planner: str = "rank"
    execute: int = 8
    """Actions that are carried out before the next plan."""
    budget_ms: float | None = None
    """Plan by `anytime.Budget` for so long, all episodes of a batch together, instead of by the planner."""
    score: ScoreConfig = field(default_factory=ScoreConfig)
    search: SearchConfig = field(default_factory=SearchConfig)
    gradient: GradientConfig = field(default_factory=GradientConfig)


class PlanningPolicy:
    """A `Policy` over a base policy, an imagination and a value; it runs wherever its base policy runs.

    The last proprios and actions that a world starts from are its own: what it imagined of the chunk that it chose
    (the hand is foreseen to a fraction of a px), with the observed present.

    Args:
        source: hash of what it imagines with.
    """

    def __init__(
        self,
        policy: Proposer,
        imagine: Imagination,
        value: Value,
        config: PlanningConfig,
        *,
        source: str = "",
        name: str | None = None,
        watch: Callable[[Moment, Plan], None] | None = None,
    ) -> None:
        follow(Whole(1, min(policy.horizon, config.score.length)), "execute", config.execute)
        if config.score.continuations and not hasattr(policy, "chunks"):
            raise InputError(f"policy {policy.name!r} cannot go on in imagination; set score.continuations to 0")
        self.policy, self.imagine, self.value, self.config = policy, imagine, value, config
        self.contract, self.watch = policy.contract, watch
        self.planner = find_planner(config.planner)
        self.name = name or f"{policy.name}+{config.planner}{config.search.count}"
        settings = asdict(config)
        if config.score.samples == 1:
            del settings["score"]["samples"]  # ledgers from before there was such a field go on
        self.hash = policy_hash("planning", {**settings, "policy": policy.hash, "world": source})
        self.seconds: list[float] = []
        """What each plan took, for all episodes together."""
        self._seeds: list[int] = []
        self._tasks: list[int] = []
        self._noise = Streams([], _SALT)
        self.budget = Budget(cast(Continuer, policy), value, config.score) if hasattr(policy, "chunks") else None
        """For plans against the clock; its ``measure`` finds out beforehand what these cost."""
        self._last: tuple[Array, Array, Array] | None = None  # proprio then, chosen actions, proprio imagined of them

    @property
    def horizon(self) -> int:
        return self.config.execute

    def reset(self, seeds: Sequence[int], tasks: Sequence[Task] = ()) -> None:
        """Begin episodes."""
        self.policy.reset(seeds, tasks)
        if self.budget is not None and len(seeds) != len(self._seeds):
            self.budget.paces.clear()  # measured for another number of episodes
        self._seeds, self._tasks, self._last = list(seeds), [task.number for task in tasks], None
        self._noise = Streams(seeds, _SALT)

    def act(self, observation: Observation) -> Array:
        """The best chunk ``(K, execute, A)`` of each episode."""
        budget = self.config.budget_ms
        if budget is not None and self.budget is not None and not self.budget.paces:
            self.budget.measure(observation, self.imagine(self.moment(observation)))
        return self.plan(observation, budget).actions[:, : self.config.execute]

    def plan(self, observation: Observation, budget_ms: float | None = None) -> Plan:
        """Look for the best chunks; with ``budget_ms`` for about so long (see `anytime.Budget`)."""
        began = time.perf_counter()
        moment = self.moment(observation)
        config = self.config
        world = self.imagine(moment)
        if budget_ms is not None and self.budget is not None:
            plan = self.budget.plan(observation, world, self._noise, began + budget_ms / 1000)
        else:
            proposals = self.policy.sample(observation, config.search.count)
            score = Scorer(world, self.value, self.policy, config.score)
            search = Search(score, self._noise, self.contract, config.search, self._refiner(world))
            plan = self.planner(search, proposals, moment.proprio[:, -1])
        imagined = self._imagined_proprio(plan)
        self._last = (moment.proprio[:, -1], plan.actions, imagined) if imagined.shape[1] else None
        self.seconds.append(time.perf_counter() - began)
        if self.watch is not None:
            self.watch(moment, plan)
        return plan

    def moment(self, observation: Observation) -> Moment:
        """What is known now."""
        first = Moment.first(observation, self.contract, self._seeds, self._tasks)
        if self._last is None:
            return first
        before, actions, imagined = self._last
        per_frame = self.contract.actions_per_frame
        now, most = first.proprio[:, -1], min(-(-self.config.execute // per_frame), imagined.shape[1])
        seen = np.concatenate([before[:, None], imagined[:, :most]], axis=1)
        # As many frames were carried out as bring the imagined hand nearest to where it is; all of them in doubt.
        away = np.abs(seen[:, 1:] - now[:, None]).sum(-1) - 1e-3 * np.arange(most)
        count = 1 + away.argmin(axis=1)[:, None]
        back = np.arange(-min(most, _KNOWN), 1)
        known = np.take_along_axis(seen, np.maximum(count + back, 0)[..., None], axis=1)
        known[:, -1] = now
        chosen = actions.reshape(len(actions), -1, per_frame, actions.shape[-1])
        between = np.take_along_axis(chosen, np.maximum(count + back[:-1], 0)[..., None, None], axis=1)
        return Moment(observation, known.astype(np.float32), between.astype(np.float32), first.seeds, first.tasks)

    def _refiner(self, world: World) -> Refine | None:
        """Gradients where they flow: from key points of a world without pictures."""
        value, settings = self.value, self.config.gradient
        if not isinstance(world, ForeseenWorld) or not isinstance(value, PointValue):
            return None
        length = self.config.score.length

        def improve(chunks: Array) -> Array:
            better = refine(world, chunks[:, :, :length], value.goal, settings)
            return np.concatenate([better, chunks[:, :, length:]], axis=2)

        return improve

    def _imagined_proprio(self, plan: Plan) -> Array:
        return plan.scores.imagined.proprio[np.arange(len(plan.chosen)), plan.chosen]
