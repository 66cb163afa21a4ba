"""The cells of a planning table: a world to plan in and a number of candidates make a policy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from simforcing_env.chunk_env import ChunkVectorEnv
from simforcing_env.evaluation.loading import open_simulator
from simforcing_env.planning.model_world import imagination
from simforcing_env.planning.planning_policy import PlanningConfig, PlanningPolicy
from simforcing_env.planning.proposals import Shortened
from simforcing_env.planning.search import Plan
from simforcing_env.planning.values import make_value
from simforcing_env.planning.world import Array, EnvWorld, Imagination, Moment
from simforcing_env.policies.diffusion import DiffusionPolicy
from simforcing_env.policies.policy import Policy
from world_model.errors import InputError
from world_model.runtime import Runtime

TRUE = "true"
"""Names the true simulator as the world that plans are made in."""


def cell_name(world: str, count: int | float) -> str:
    """``k50_p100``, ``oracle_k50``, or ``ms200_p100`` of a budget in milliseconds, which is a float.

    Raises:
        InputError: a world that is neither ``true`` nor P=CHECKPOINT.
    """
    much = f"k{count}" if isinstance(count, int) else f"ms{count:g}"
    if world == TRUE:
        return f"oracle_{much}"
    rollouts, equals, checkpoint = world.partition("=")
    if not equals or not rollouts.isdecimal() or not checkpoint:
        raise InputError(f"world {world!r} is neither 'true' nor P=CHECKPOINT; write, for example, 0=pusht-nano")
    return f"{much}_p{rollouts}"


@dataclass
class Planners:
    """Makes the policy of each cell; worlds are opened once.

    Args:
        config: of all plans; the number of candidates and the budget are the cell's.
        pictures: draw all imagined frames.
        state: of `EnvWorld`, for plans in the true simulator.
        alone: actions after which the policy is asked again where it does not plan; None for as many as of a plan.
    """

    policy: DiffusionPolicy
    config: PlanningConfig
    value: str
    pictures: bool
    runtime: Runtime
    state: Callable[[ChunkVectorEnv], Array] | None = None
    alone: int | None = None

    def __post_init__(self) -> None:
        self._opened: dict[str, tuple[Imagination, str]] = {}

    def make(
        self,
        world: str,
        count: int | float,
        env: ChunkVectorEnv,
        watch: Callable[[Moment, Plan], None] | None = None,
    ) -> Policy:
        """The policy with ``count`` candidates, or milliseconds where that is a float, acting in ``env``.

        One candidate is the base policy without a plan.
        """
        if isinstance(count, int) and count == 1:
            return Shortened(self.policy, self.alone or self.config.execute)
        if world != TRUE:
            return self.learned(world, count, watch)
        state = self.state
        return self._planning(lambda moment: EnvWorld(env, state), TRUE, count, watch)

    def learned(
        self, world: str, count: int | float, watch: Callable[[Moment, Plan], None] | None = None
    ) -> PlanningPolicy:
        """The same in a learned world P=CHECKPOINT, for any environment."""
        if world not in self._opened:
            simulator = open_simulator(world.partition("=")[2])
            simulator.contract.require_same(self.policy.contract, "the checkpoint", "the policy")
            told = f"{simulator.hash} {self.pictures} {self.runtime.precision}"
            self._opened[world] = imagination(simulator, self.pictures, self.runtime), told
        return self._planning(*self._opened[world], count, watch)

    def _planning(
        self, imagine: Imagination, source: str, count: int | float, watch: Callable[[Moment, Plan], None] | None
    ) -> PlanningPolicy:
        config = replace(self.config, budget_ms=count if isinstance(count, float) else None)
        if isinstance(count, int):
            config = replace(config, search=replace(config.search, count=count))
        value = make_value(self.value)
        return PlanningPolicy(self.policy, imagine, value, config, source=f"{source} {self.value}", watch=watch)
