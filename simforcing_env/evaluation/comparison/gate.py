"""Does a new checkpoint still rank the reference policies as the truth does? The true episodes are those on record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from simforcing_env.evaluation.comparison.outcome import Key, Outcome
from simforcing_env.evaluation.comparison.protocol import Protocol
from simforcing_env.evaluation.comparison.scores import SURE, Scores, Table, comparison_metrics, success
from simforcing_env.policies.policy import Policy
from simforcing_env.policies.registry import make_policy
from world_model.contract import Contract
from world_model.errors import ContractError, SimforcingError
from world_model.metrics.decisions import mcnemar
from world_model.pretrained import LearnedSimulator
from world_model.results import Metric


@dataclass(frozen=True)
class Verdict:
    """What the gate says."""

    metrics: dict[str, Metric]
    broken: tuple[str, ...]
    """A sentence for each condition that does not hold."""


def protocol_for(reference: Protocol, simulator: LearnedSimulator) -> Protocol:
    """The reference's protocol with another checkpoint, which keeps its own history and sampler.

    Raises:
        ContractError: the checkpoint is of another contract.
    """
    if simulator.contract.hash != reference.contract:
        raise ContractError(
            f"checkpoint {simulator.hash} has contract {simulator.contract.hash} but the reference was run under "
            f"{reference.contract}; compare it anew with simforcing compare"
        )
    own = {"history": simulator.history, "sampler_steps": simulator.sampler.steps}
    return replace(reference, checkpoint=simulator.hash, **own)


def reference_policies(outcomes: Mapping[Key, Outcome], contract: Contract) -> tuple[list[Policy], list[str]]:
    """The policies of a ledger that can be made again from their names, and the names of those that cannot."""
    made: list[Policy] = []
    lost: list[str] = []
    for name, digest in dict.fromkeys((o.policy, o.policy_hash) for o in outcomes.values()):
        try:
            policy = make_policy(name, contract)
        except SimforcingError:
            lost.append(name)
            continue
        if policy.hash == digest:
            made.append(policy)
        else:
            lost.append(name)
    return made, lost


def judge(outcomes: Mapping[Key, Outcome], spearman: float, mmrv: float) -> Verdict:
    """Hold new learned episodes against the true ones of the same ledger.

    The ranking holds if rank correlation and misranking are within their limits, and no pair of policies that the
    truth tells apart (McNemar) is turned around.

    Raises:
        InputError: fewer than two policies are complete.
    """
    scores = Scores.of(outcomes)
    metrics = comparison_metrics(scores, np.random.default_rng(0), timing=False)
    broken = []
    found = metrics.get("spearman")
    truth = success(scores.true).mean(1)
    if found is None and np.ptp(truth) > 0:
        broken.append("all policies have the same learned score")
    elif found is not None and found.value < spearman:
        broken.append(f"spearman is {found.value:.3f}, below {spearman:g}")
    if metrics["mmrv"].value > mmrv:
        broken.append(f"mmrv is {metrics['mmrv'].value:.3f}, above {mmrv:g}")
    broken += turned(success(scores.learned), success(scores.true), scores.policies)
    return Verdict(metrics, tuple(broken))


def turned(learned: Table, true: Table, names: Sequence[str]) -> list[str]:
    """A sentence for each pair that differs for sure in truth and the other way around in imagination."""
    said = []
    for i, j in combinations(range(len(names)), 2):
        worse, better = (i, j) if true[i].mean() < true[j].mean() else (j, i)
        if mcnemar(true[i], true[j]) < SURE and learned[worse].mean() > learned[better].mean():
            numbers = [float(side[k].mean()) for side in (true, learned) for k in (better, worse)]
            said.append(
                f"{names[better]} beats {names[worse]} by {numbers[0]:.2f} to {numbers[1]:.2f} in truth, "
                f"but has {numbers[2]:.2f} to {numbers[3]:.2f} in imagination"
            )
    return said
