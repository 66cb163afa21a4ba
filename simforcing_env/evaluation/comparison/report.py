"""What a comparison leaves beside its ledger: results, protocol, tables, a picture and a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np

from simforcing_env.evaluation.comparison.diagnosis import diagnosis_metrics
from simforcing_env.evaluation.comparison.outcome import Key, Outcome
from simforcing_env.evaluation.comparison.protocol import Protocol, write_protocol
from simforcing_env.evaluation.comparison.scores import Scores, comparison_metrics, success
from simforcing_env.evaluation.reporting import print_metrics
from simforcing_env.evaluation.tables import write_csv
from world_model.ledger import pack_ledger
from world_model.metrics.decisions import mcnemar, sequential
from world_model.results import Metric, describe_device, this_command, wilson, write_results

RESULTS_SEED = 29  # of bootstrap draws, so that a report follows from its ledger


def write_report(
    path: Path,
    protocol: Protocol,
    outcomes: Mapping[Key, Outcome],
    seed: int,
    timing: bool,
    device: str = "cpu",
    words: Sequence[str] = (),
) -> dict[str, Metric]:
    """Print the numbers and write all files beside ``path``; returns the numbers.

    Raises:
        InputError: fewer than two policies are complete.
    """
    from simforcing_env.evaluation.comparison.audit import write_audit
    from simforcing_env.evaluation.comparison.page import write_page

    scores = Scores.of(outcomes)
    generator = np.random.default_rng(RESULTS_SEED)
    metrics = comparison_metrics(scores, generator, timing) | diagnosis_metrics(scores, generator)
    print_metrics(metrics)
    pack_ledger(path.with_suffix(".ledger.jsonl"))
    write_protocol(path.with_suffix(".protocol.json"), protocol)
    policies, pairs, tasks = policy_rows(scores), pair_rows(scores), task_rows(scores)
    stem = path.with_suffix("")
    for name, (heading, rows) in (("policies", policies), ("pairs", pairs), ("tasks", tasks)):
        write_csv(stem.with_name(f"{stem.name}-{name}.csv"), heading, rows)
    write_page(path, protocol, scores, metrics, {"Policies": policies, "Tasks": tasks, "Pairs of policies": pairs})
    write_audit(path, protocol, scores, words)
    write_results(
        path,
        command=this_command(),
        checkpoint=protocol.checkpoint,
        contract=protocol.contract,
        device=describe_device(device, protocol.precision),
        sampler_steps=protocol.sampler_steps,
        seeds=[seed],
        metrics=metrics,
    )
    return metrics


Rows = tuple[list[str], list[list[object]]]
"""Heading and lines of a table."""


def policy_rows(scores: Scores) -> Rows:
    """True and imagined success of each policy with Wilson intervals, and what they differ by."""
    heading = ["policy", "hash", "n", "true", "true_low", "true_high", "learned", "learned_low", "learned_high"]
    heading += ["again", "learned_less_true", "agree", "mcnemar_p", "true_coverage", "learned_coverage"]
    true, learned = success(scores.true), success(scores.learned)
    again = None if scores.again is None else success(scores.again)
    rows: list[list[object]] = []
    for i, name in enumerate(scores.policies):
        n = true.shape[1]
        cells: list[object] = [name, scores.hashes[i], n]
        for side in (true, learned):
            low, high = wilson(int(side[i].sum()), n)
            cells += [_number(x) for x in (side[i].mean(), low, high)]
        cells += ["" if again is None else _number(again[i].mean())]
        cells += [_number(learned[i].mean() - true[i].mean()), _number((learned[i] == true[i]).mean())]
        cells += [_number(mcnemar(true[i], learned[i]))]
        for side_outcomes in (scores.true, scores.learned):
            best = [o.best["coverage"] for o in side_outcomes[i] if "coverage" in o.best]
            cells += [_number(float(np.mean(best))) if best else ""]
        rows.append(cells)
    return heading, rows


def pair_rows(scores: Scores) -> Rows:
    """For each pair of policies: McNemar on both sides, and after how many episodes B is proved to beat A."""
    heading = ["a", "b", "true_difference", "true_p", "learned_difference", "learned_p"]
    heading += ["true_stops_at", "learned_stops_at", "verdict"]
    true, learned = success(scores.true), success(scores.learned)
    order = np.argsort(true.mean(1), kind="stable")
    rows: list[list[object]] = []
    for x, y in combinations(range(len(order)), 2):
        i, j = int(order[x]), int(order[y])
        a, b = scores.policies[i], scores.policies[j]
        differences = [float(side[j].mean() - side[i].mean()) for side in (true, learned)]
        p_values = [mcnemar(side[i], side[j]) for side in (true, learned)]
        stops = [sequential(side[i], side[j]).at for side in (true, learned)]
        verdict = f"{b} beats {a}, stopped at episode {stops[1]}" if stops[1] is not None else ""
        cells: list[object] = [a, b]
        for difference, p in zip(differences, p_values, strict=True):
            cells += [_number(difference), _number(p)]
        rows.append([*cells, *("" if s is None else s for s in stops), verdict])
    return heading, rows


def task_rows(scores: Scores) -> Rows:
    """Success of each policy in each task."""
    heading = ["task", "policy", "n", "true", "learned", "learned_less_true", "agree"]
    true, learned = success(scores.true), success(scores.learned)
    rows: list[list[object]] = []
    for task in sorted(set(scores.tasks.tolist())):
        own = scores.tasks == task
        for i, name in enumerate(scores.policies):
            t, g = true[i, own], learned[i, own]
            numbers = (t.mean(), g.mean(), g.mean() - t.mean(), (t == g).mean())
            rows.append([task, name, int(own.sum()), *(_number(x) for x in numbers)])
    return heading, rows


def _number(value: float) -> str:
    return f"{value:.3f}"
