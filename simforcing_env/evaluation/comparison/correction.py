"""What a few true episodes and many imagined ones are worth together, tried out on the outcomes of a comparison."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from simforcing_env.evaluation.comparison.outcome import Key, Outcome
from simforcing_env.evaluation.comparison.report import Rows
from simforcing_env.evaluation.comparison.scores import Scores, success
from world_model.errors import InputError
from world_model.metrics.prediction_powered import Trial, corrected_rate, simulate
from world_model.results import Metric, wilson

KAPPAS = (0.0, 0.6, 0.8, 0.95)
"""Of imagined worlds that stand beside the measured ones; the true rate is 0.5 there."""


def correction_metrics(
    outcomes: Mapping[Key, Outcome], n: int, extra: int, repeats: int, generator: np.random.Generator
) -> dict[str, Metric]:
    """Mean over policies of how often intervals hold the truth and how wide they are beside truth alone.

    Each policy's outcomes stand for a whole world, of which n true and ``extra`` imagined episodes are drawn. Policies
    that always or never succeed say nothing about widths and are left out.

    Raises:
        InputError: no policy succeeds sometimes.
    """
    scores = Scores.of(outcomes)
    true, learned = success(scores.true), success(scores.learned)
    worlds = [i for i in range(len(true)) if 0 < true[i].mean() < 1]
    if not worlds:
        raise InputError(f"none of {len(true)} policies succeeds sometimes and fails sometimes; compare others")
    trials = [simulate(true[i], learned[i], n, extra, generator, repeats) for i in worlds]
    found = _summary(trials, "")
    found["coverage_least"] = Metric(min(trial.coverage for trial in trials), n=repeats)
    for kappa in KAPPAS:
        true_side, imagined = world_of(kappa)
        found |= _summary([simulate(true_side, imagined, n, extra, generator, repeats)], f"_kappa_{kappa:g}")
    found |= {"true_episodes": Metric(float(n)), "imagined_episodes": Metric(float(extra))}
    found |= {"repeats": Metric(float(repeats)), "policies": Metric(float(len(worlds)))}
    return found


def world_of(kappa: float, size: int = 1000) -> tuple[np.ndarray[tuple[int], np.dtype[np.float64]], ...]:
    """Paired outcomes of which half succeed on each side and that agree by ``kappa`` beyond chance."""
    quarter = round(size / 4 * (1 + kappa))  # both succeed, both fail: (1 + kappa) / 4 each
    rest = size // 2 - quarter
    true = np.repeat([1.0, 0.0, 1.0, 0.0], [quarter, quarter, rest, rest])
    imagined = np.repeat([1.0, 0.0, 0.0, 1.0], [quarter, quarter, rest, rest])
    return true, imagined


def correction_rows(outcomes: Mapping[Key, Outcome], n: int) -> Rows:
    """For each policy the rate from its first n true episodes alone, and corrected with all imagined ones."""
    scores = Scores.of(outcomes)
    true, learned = success(scores.true), success(scores.learned)
    heading = ["policy", "true_of_all", "first_true", "low", "high", "corrected", "corrected_low", "corrected_high"]
    rows: list[list[object]] = []
    for i, name in enumerate(scores.policies):
        if n + 2 > true.shape[1]:
            raise InputError(f"--first is {n} but there are {true.shape[1]} starts; leave 2 or more to imagination")
        rate, weight = corrected_rate(true[i, :n], learned[i, :n], learned[i, n:])
        alone = wilson(int(true[i, :n].sum()), n)
        numbers = [true[i].mean(), true[i, :n].mean(), *alone, rate.value, rate.low or 0.0, rate.high or 0.0, weight]
        rows.append([name, *(f"{number:.3f}" for number in numbers)])
    return [*heading, "weight"], rows


def _summary(trials: list[Trial], suffix: str) -> dict[str, Metric]:
    ratios = [trial.width / trial.width_true_only for trial in trials]
    return {
        f"width_ratio{suffix}": Metric(float(np.mean(ratios)), n=len(trials)),
        f"coverage{suffix}": Metric(float(np.mean([t.coverage for t in trials])), n=len(trials)),
        f"coverage_true_only{suffix}": Metric(float(np.mean([t.coverage_true_only for t in trials])), n=len(trials)),
    }
