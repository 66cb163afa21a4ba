"""Episodes of a policy in the true environment: what they came to, one line of a ledger each."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from simforcing_env.chunk_env import ChunkVectorEnv
from simforcing_env.policies.policy import Policy, Task
from world_model.errors import DataError, InputError
from world_model.ledger import read_ledger
from world_model.metrics.decisions import mcnemar
from world_model.results import Metric

SHARES = ("coverage", "iou")
EVENTS = ("success", "success_coverage", "success_pose")
ENDS = "success"
"""The label that ends an episode, where the environment's threshold lets it."""


@dataclass(frozen=True)
class Trial:
    """An episode's outcome; the key fields say what it was an episode of."""

    start: str
    seed: int
    policy: str  # hash
    contract: str  # hash
    steps: int  # actions that were carried out
    labels: dict[str, dict[str, float]] = field(default_factory=dict)
    """Of each label: its "final" value, its "best", and "ever" for events; the truth, not a head's."""
    seconds: float = 0.0  # of planning, for this episode's share of its batch

    @property
    def key(self) -> str:
        """Two trials with the same key have the same outcome."""
        return json.dumps([self.start, self.seed, self.policy, self.contract, self.steps])


def run_trials(
    env: ChunkVectorEnv,
    policy: Policy,
    starts: Sequence[str],
    seed: int,
    steps: int,
    report: Callable[[Trial], None],
    each: Callable[[dict[str, Any]], None] = lambda infos: None,
    task: Callable[[str], Task] = lambda start: Task(),
) -> None:
    """Run ``policy`` from ``starts`` in the slots of ``env``, batch by batch, for ``steps`` actions.

    In an environment with ``success_threshold=1`` episodes go on after a success, and what counts is where things lie
    at the end. In others (make them with autoreset disabled) success ends an episode, and is all that is told of it.
    Seeds follow from the start's name, not from its batch.

    Args:
        task: what the episode of a start is to do.

    Raises:
        InputError: the environment's chunk is not the policy's horizon.
    """
    chunk, goes_on = env.config.chunk, env.config.success_threshold >= 1
    names = [n for n in (*SHARES, *EVENTS) if n in env.backend.label_names] if goes_on else []
    if chunk != policy.horizon:
        raise InputError(f"policy {policy.name!r} plans {policy.horizon} actions but the environment takes {chunk}")
    for first in range(0, len(starts), env.num_envs):
        batch = list(starts[first : first + env.num_envs])
        padded = batch + [batch[-1]] * (env.num_envs - len(batch))  # the last batch is filled up; copies do not count
        seeds = [seed_of(seed, name) for name in padded]
        observation, infos = env.reset(seed=seeds, options={"start": padded})
        policy.reset(seeds, [task(name) for name in padded])
        values = {name: [np.asarray(infos[name])[:, None]] for name in names}
        spent, reached = 0.0, np.zeros(len(padded), np.bool_)
        for begun in range(0, steps, chunk):
            actions = policy.act(observation)
            spent += getattr(policy, "seconds", [0.0])[-1]
            observation, _, terminated, _, infos = env.step(actions.reshape(env.action_space.shape))
            taken = begun + infos["frames_valid"] * env.contract.actions_per_frame
            reached |= terminated & (infos["frames_valid"] > 0) & (taken <= steps)
            for name in names:
                values[name].append(infos["labels"][name])
            each(infos)
            if terminated.all():
                break
        curves = {name: np.concatenate(parts, axis=1)[:, : steps + 1] for name, parts in values.items()}
        for row, start in enumerate(batch):
            labels = {name: _summary(curve[row]) for name, curve in curves.items()}
            if not goes_on:
                labels[ENDS] = _summary(reached[row : row + 1].astype(np.float32))
            contract = env.contract.hash
            report(Trial(start, seed, policy.hash, contract, steps, labels, round(spent / len(padded), 4)))


def seed_of(seed: int, start: str) -> int:
    """Episode seed of a start, the same in whatever order and company it is run."""
    words = np.random.SeedSequence([seed, *start.encode()]).generate_state(1, np.uint32)
    return int(words[0])


def paired(cells: Mapping[str, Sequence[Trial]]) -> dict[str, Metric]:
    """Success without a plan, with the most candidates, and whether the same starts tell them apart.

    ``mcnemar_p_k8`` and the like compare the other numbers of candidates with none.
    """
    found: dict[str, Metric] = {}
    without = {t.start: t for name, trials in cells.items() if name.startswith("k1_") for t in trials}
    planned = sorted((int(n[1 : n.index("_")]), n) for n in cells if n.startswith("k") and not n.startswith("k1_"))
    for count, name in planned:
        both = [t for t in cells[name] if t.start in without]
        if not both:
            continue
        one, two = ([t.labels[ENDS]["final"] > 0.5 for t in side] for side in ([without[t.start] for t in both], both))
        found[f"mcnemar_p_k{count}"] = found["mcnemar_p"] = Metric(mcnemar(one, two), n=len(both))
        found["success_without"] = Metric.rate(sum(one), len(one), "share")
        found["success_with"] = Metric.rate(sum(two), len(two), "share")
    return found


def _summary(curve: np.ndarray[Any, Any]) -> dict[str, float]:
    return {"final": round(float(curve[-1]), 6), "best": round(float(curve.max()), 6)}


def known_trials(ledger: Path) -> dict[str, Trial]:
    """Trials of a ledger by key.

    Raises:
        DataError: a line that is no trial.
    """
    trials: dict[str, Trial] = {}
    for number, record in enumerate(read_ledger(ledger), 1):
        try:
            trial = Trial(**record)
        except TypeError as error:
            raise DataError(f"line {number} of {ledger} is no trial ({error}); delete that line") from error
        trials[trial.key] = trial
    return trials


def table(cells: Mapping[str, Sequence[Trial]], seed: int) -> dict[str, Metric]:
    """Means over the episodes of each cell: ``iou_k50_p0``, ``coverage_...``, and both successes."""
    metrics: dict[str, Metric] = {}
    for name, trials in cells.items():
        front, _, rest = name.partition("oracle_")
        cell, prefix = (rest, "oracle_") if rest else (front, "")
        for label in trials[0].labels:
            finals = [trial.labels[label]["final"] for trial in trials]
            if label in EVENTS:
                ever = [trial.labels[label]["best"] > 0.5 for trial in trials]
                metrics[f"{prefix}{label}_{cell}"] = Metric.rate(sum(f > 0.5 for f in finals), len(finals), "share")
                metrics[f"{prefix}ever_{label}_{cell}"] = Metric.rate(sum(ever), len(ever), "share")
            else:
                metrics[f"{prefix}{label}_{cell}"] = Metric.mean(finals, np.random.default_rng(seed), "share")
                best = [trial.labels[label]["best"] for trial in trials]
                metrics[f"{prefix}best_{label}_{cell}"] = Metric.mean(best, np.random.default_rng(seed), "share")
    return metrics
