"""Policies that plan, by specification: to record demonstrations that are better than the policy they begin with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from simforcing_env.planning.arena import Arena
from simforcing_env.planning.cells import Planners
from simforcing_env.planning.planning_policy import PlanningConfig
from simforcing_env.planning.scoring import ScoreConfig
from simforcing_env.planning.search import SearchConfig
from simforcing_env.policies.diffusion import load_diffusion
from simforcing_env.policies.policy import Policy
from simforcing_env.registration import WORLDS
from world_model.contract import Contract
from world_model.errors import InputError
from world_model.rules import TEXT, Rule, Whole, settle
from world_model.runtime import Runtime

RULES: Mapping[str, Rule] = {
    "policy": TEXT,
    "world": TEXT,
    "count": Whole(2, 65_536),
    "execute": Whole(1, 1024),
    "continuations": Whole(0, 64),
}


@dataclass(frozen=True)
class PlannedSettings:
    """What a planned policy plans with; how it weighs futures is the world's habit (see `arena.HABITS`)."""

    policy: str = ""
    """Folder of the diffusion policy whose proposals are ranked."""
    world: str = ""
    """Checkpoint; the one that ships for the contract's world if none is given."""
    count: int = 24
    """Candidates."""
    execute: int = 8
    """Actions that are carried out before the next plan."""
    continuations: int = 1
    """Chunks of the policy that follow in imagination."""

    def __post_init__(self) -> None:
        settle(self, RULES)


def planned_policy(settings: PlannedSettings, contract: Contract, name: str) -> Policy:
    """A policy that ranks the proposals of another one by their imagined futures.

    Raises:
        InputError: no policy is named, or no checkpoint ships for the contract's world.
    """
    if not settings.policy:
        raise InputError(f"policy {name!r} names none to plan with; write planned:policy=FOLDER")
    shipped = next((world for world in WORLDS if world.name == contract.name), None)
    if shipped is None:
        raise InputError(f"policy {name!r} plans in shipped worlds but none is of {contract.name!r}; choose another")
    runtime, habits = Runtime.choose("cpu"), Arena.of(shipped.id).habits
    base = load_diffusion(Path(settings.policy), contract, runtime=runtime)
    score = ScoreConfig(continuations=settings.continuations, last=habits.last)
    config = PlanningConfig("rank", settings.execute, None, score, SearchConfig(stay=not habits.ends))
    planners = Planners(base, config, habits.value, False, runtime)
    return planners.learned(f"0={settings.world or shipped.checkpoint}", settings.count)
