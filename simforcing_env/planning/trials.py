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
from world_model.results import Metric

SHARES = ("coverage", "iou")
EVENTS = ("success_coverage", "success_pose")


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
) -> None:
    """Run ``policy`` from ``starts`` in the slots of ``env``, batch by batch, always for ``steps`` actions.

    An episode goes on after a success (make the environment with ``success_threshold=1``): what counts at the end is
    where the block lies then. Seeds follow from the start's number in the list of names, not from its batch.

    Raises:
        InputError: the environment's chunk is not the policy's horizon.
    """
    chunk, names = env.config.chunk, [n for n in (*SHARES, *EVENTS) if n in env.backend.label_names]
    if chunk != policy.horizon:
        raise InputError(f"policy {policy.name!r} plans {policy.horizon} actions but the environment takes {chunk}")
    for first in range(0, len(starts), env.num_envs):
        batch = list(starts[first : first + env.num_envs])
        padded = batch + [batch[-1]] * (env.num_envs - len(batch))  # the last batch is filled up; copies do not count
        seeds = [seed_of(seed, name) for name in padded]
        observation, infos = env.reset(seed=seeds, options={"start": padded})
        policy.reset(seeds, [Task()] * len(seeds))
        values = {name: [np.asarray(infos[name])[:, None]] for name in names}
        spent = 0.0
        for _ in range(-(-steps // chunk)):
            actions = policy.act(observation)
            spent += getattr(policy, "seconds", [0.0])[-1]
            observation, *_, infos = env.step(actions.reshape(env.action_space.shape))
            for name in names:
                values[name].append(infos["labels"][name])
            each(infos)
        curves = {name: np.concatenate(parts, axis=1)[:, : steps + 1] for name, parts in values.items()}
        for row, start in enumerate(batch):
            labels = {name: _summary(curve[row]) for name, curve in curves.items()}
            contract = env.contract.hash
            report(Trial(start, seed, policy.hash, contract, steps, labels, round(spent / len(padded), 4)))


def seed_of(seed: int, start: str) -> int:
    """Episode seed of a start, the same in whatever order and company it is run."""
    words = np.random.SeedSequence([seed, *start.encode()]).generate_state(1, np.uint32)
    return int(words[0])


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
