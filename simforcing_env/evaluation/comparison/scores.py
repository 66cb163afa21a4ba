"""A ledger as tables, and the numbers of a comparison; nothing else goes into a report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from simforcing_env.evaluation.comparison.outcome import Key, Outcome, shared_keys
from world_model.errors import InputError
from world_model.metrics.agreement import agreement, cohen_kappa
from world_model.metrics.decisions import mcnemar, sequential
from world_model.metrics.resampling import grouped_interval
from world_model.results import Metric

Table = NDArray[np.bool_]  # (P, S)
SURE = 0.05  # p-value below which two policies differ


@dataclass(frozen=True)
class Scores:
    """Outcomes of P policies from S starts, on both sides."""

    policies: tuple[str, ...]
    hashes: tuple[str, ...]
    starts: tuple[str, ...]
    true: list[list[Outcome]]
    learned: list[list[Outcome]]
    again: list[list[Outcome]] | None
    """The true simulator with other seeds, from the starts ``floor``."""
    floor: tuple[int, ...] = ()
    """Numbers of the starts from which all policies were run again."""

    @classmethod
    def of(cls, outcomes: Mapping[Key, Outcome]) -> Scores:
        """Policies and starts in the order of the ledger, those that were run on both sides.

        Of an unfinished ledger either the policies that have run from all starts are taken, or the starts from which
        all policies have run, whichever leaves more episodes.

        Raises:
            InputError: fewer than two policies are complete.
        """
        both = {key[1:]: None for key in shared_keys(outcomes, "learned")}
        hashes, starts = (tuple(dict.fromkeys(key[i] for key in both)) for i in (0, 1))
        through = tuple(policy for policy in hashes if all((policy, start) in both for start in starts))
        from_all = tuple(start for start in starts if all((policy, start) in both for policy in hashes))
        if len(through) * len(starts) >= len(hashes) * len(from_all):
            hashes = through
        else:
            starts = from_all
        if len(hashes) < 2:
            raise InputError(f"{len(hashes)} policies have run from all {len(starts)} starts; a comparison takes two")

        def side(name: str, own: tuple[str, ...] = starts) -> list[list[Outcome]]:
            return [[outcomes[name, policy, start] for start in own] for policy in hashes]

        floor = tuple(i for i, s in enumerate(starts) if all(("again", policy, s) in outcomes for policy in hashes))
        again = side("again", tuple(starts[i] for i in floor)) if floor else None
        names = tuple(outcomes["true", policy, starts[0]].policy for policy in hashes)
        return cls(names, hashes, starts, side("true"), side("learned"), again, floor)

    @property
    def tasks(self) -> NDArray[np.int64]:
        """``(S,)`` of the starts."""
        return np.array([outcome.task for outcome in self.true[0]], np.int64)


def success(side: list[list[Outcome]]) -> Table:
    """``(P, S)`` whether episodes succeeded."""
    return np.array([[outcome.success for outcome in row] for row in side], np.bool_)


def label_means(side: list[list[Outcome]], name: str) -> NDArray[np.float64]:
    """``(P, S)`` best value of a label in each episode."""
    return np.array([[outcome.best[name] for outcome in row] for row in side], np.float64)


def comparison_metrics(scores: Scores, generator: np.random.Generator, timing: bool = True) -> dict[str, Metric]:
    """Agreement of the two sides, its noise floor, decisions between policies, and speed.

    Intervals of statistics over policies draw policies and starts again, those over episodes draw starts.
    """
    true, learned = success(scores.true), success(scores.learned)
    found = agreement(learned, true, generator)
    found |= episode_agreement(learned, true, generator)
    found |= _rates(true, "true") | _rates(learned, "learned")
    found["policies"] = Metric(float(len(true)))
    found["tasks"] = Metric(float(len(set(scores.tasks.tolist()))))
    found["episodes"] = Metric(float(true.size), unit="per side")
    found |= _task_agreement(learned, true, scores.tasks, generator)
    if scores.again is not None:
        again, once = success(scores.again), true[:, scores.floor]
        floor = agreement(again, once, generator)
        found["noise_floor"] = floor["bias"]
        found |= {f"noise_floor_{name}": metric for name, metric in floor.items() if name != "bias"}
        found |= {f"noise_floor_{name}": metric for name, metric in episode_agreement(again, once, generator).items()}
    for name in ("coverage", "progress"):
        if name in scores.true[0][0].best and name in scores.learned[0][0].best:
            graded = agreement(label_means(scores.learned, name), label_means(scores.true, name), generator)
            found |= {f"{key}_{name}": graded[key] for key in ("pearson", "spearman", "bias") if key in graded}
    found |= decisions(learned, true)
    if timing:
        found |= speeds(scores)
    return found


def episode_agreement(guess: Table, truth: Table, generator: np.random.Generator) -> dict[str, Metric]:
    """Cohen's kappa over episodes with an interval over starts, and the share of episodes that end alike."""
    columns = np.broadcast_to(np.arange(truth.shape[1]), truth.shape).ravel()
    g, t = guess.ravel(), truth.ravel()
    found = {"agreement": Metric.rate(int((g == t).sum()), t.size)}
    value = cohen_kappa(t, g)
    if value is not None:
        low, high = grouped_interval(lambda rows: cohen_kappa(t[rows], g[rows]), columns, generator)
        found["kappa"] = Metric(value, low, high, t.size)
    return found


def decisions(learned: Table, true: Table) -> dict[str, Metric]:
    """What imagination says of the pairs of policies of which the truth is sure.

    ``pairs_right``: share of the pairs that McNemar tells apart in truth whose imagined difference has the same sign.
    ``stops_right``: share of the pairs of which sequential evidence proves one better in truth for which imagined
    episodes prove the same, after ``stop_episodes`` of them on average.
    """
    sure: list[bool] = []
    proved: list[bool] = []
    after: list[int] = []
    for i, j in combinations(range(len(true)), 2):
        if mcnemar(true[i], true[j]) < SURE:
            sure.append(bool((true[j].mean() - true[i].mean()) * (learned[j].mean() - learned[i].mean()) > 0))
        for worse, better in ((i, j), (j, i)):
            if sequential(true[worse], true[better]).at is not None:
                told = sequential(learned[worse], learned[better]).at
                proved.append(told is not None)
                after += [told] if told is not None else []
    found = {"pairs": Metric(float(len(true) * (len(true) - 1) // 2))}
    if sure:
        found["pairs_right"] = Metric.rate(sum(sure), len(sure))
    if proved:
        found["stops_right"] = Metric.rate(sum(proved), len(proved))
    if after:
        found["stop_episodes"] = Metric(float(np.mean(after)), n=len(after), unit="episodes")
    return found


def speeds(scores: Scores) -> dict[str, Metric]:
    """Seconds of true over learned evaluation: of the whole (policy and environment), and of the environments."""
    spent = {
        side: np.array([[(o.policy_s, o.env_s) for o in row] for row in getattr(scores, side)]).sum((0, 1))
        for side in ("true", "learned")
    }
    whole, alone = spent["true"].sum() / spent["learned"].sum(), spent["true"][1] / spent["learned"][1]
    return {"speedup": Metric(float(whole)), "speedup_env": Metric(float(alone))}


def _rates(side: Table, name: str) -> dict[str, Metric]:
    return {f"success_{name}": Metric.rate(int(side.sum()), side.size)}


def _task_agreement(
    learned: Table, true: Table, tasks: NDArray[np.int64], generator: np.random.Generator
) -> dict[str, Metric]:
    """Agreement over cells of policy and task, where there are several tasks."""
    kinds = sorted(set(tasks.tolist()))
    counts = {int((tasks == kind).sum()) for kind in kinds}
    if len(kinds) < 2 or len(counts) > 1:
        return {}
    cells = [np.concatenate([side[:, tasks == kind] for kind in kinds]) for side in (learned, true)]
    found = agreement(cells[0], cells[1], generator)
    return {f"{name}_by_task": found[name] for name in ("pearson", "spearman", "mmrv", "bias") if name in found}
