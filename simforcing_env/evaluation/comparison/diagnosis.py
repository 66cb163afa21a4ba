"""Why imagined outcomes differ: when episodes part, whether the model knew, and what cutting there would change."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simforcing_env.evaluation.comparison.outcome import Outcome
from simforcing_env.evaluation.comparison.scores import Scores, episode_agreement, success
from world_model.metrics.agreement import agreement
from world_model.metrics.calibration import auroc
from world_model.metrics.resampling import grouped_interval
from world_model.results import Metric

MEASURES = ("pixel", "proprio", "state")


def diagnosis_metrics(scores: Scores, generator: np.random.Generator) -> dict[str, Metric]:
    """Of each measure of parting, and of the model's uncertainty.

    ``parted_*``: share of the episodes that part while both run. ``horizon_*``: the frame by which half of them have,
    where an episode that ends before it parts counts as not parted so far (Kaplan-Meier); missing if fewer ever do.
    ``uncertainty_auroc``: chance that an episode with the wrong outcome was less certain than one with the right one.
    ``*_truncated``: agreement when both sides count only what happened before they parted.
    ``outside``: mean share of imagined frames with actions outside the training support; ``outside_auroc`` as of the
    uncertainty. ``*_goal``: imagined success by goal images against the truth, and how often both judges agree.
    """
    learned = [outcome for row in scores.learned for outcome in row]
    true = [outcome for row in scores.true for outcome in row]
    found: dict[str, Metric] = {}
    for name in MEASURES:
        if name not in learned[0].parted:
            continue
        shared = [min(a.frames, b.frames) for a, b in zip(learned, true, strict=True)]
        apart = [outcome.parted[name] for outcome in learned]
        found[f"parted_{name}"] = Metric.rate(sum(frame is not None for frame in apart), len(apart))
        middle = median_horizon(apart, shared)
        if middle is not None:
            found[f"horizon_{name}"] = Metric(middle, n=len(apart), unit="frames")
    found |= _warnings(scores, generator) | _second_judge(scores, generator)
    cut = next((name for name in ("state", "pixel") if name in learned[0].parted), None)
    if cut is not None:
        found |= truncated(scores, cut, generator)
    return found


def median_horizon(apart: list[int | None], shared: list[int]) -> float | None:
    """Frame by which half of the episodes have parted (Kaplan-Meier), None if fewer ever do."""
    from scipy.stats import CensoredData, ecdf

    parted = [frame for frame in apart if frame is not None]
    still = [length for frame, length in zip(apart, shared, strict=True) if frame is None]
    if not parted:
        return None
    curve = ecdf(CensoredData(parted, right=still)).cdf
    over = np.flatnonzero(curve.probabilities >= 0.5)
    return float(curve.quantiles[over[0]]) if len(over) else None


def truncated(scores: Scores, measure: str, generator: np.random.Generator) -> dict[str, Metric]:
    """Agreement when a success counts only up to the frame at which the pair had parted."""

    def before(outcome: Outcome, pair: Outcome) -> bool:
        end = pair.parted[measure]
        return outcome.success_frame is not None and (end is None or outcome.success_frame <= end)

    def cut(side: list[list[Outcome]]) -> NDArray[np.bool_]:
        return np.array(
            [
                [before(o, pair) for o, pair in zip(*rows, strict=True)]
                for rows in zip(side, scores.learned, strict=True)
            ]
        )

    learned, true = cut(scores.learned), cut(scores.true)
    found = agreement(learned, true, generator) | episode_agreement(learned, true, generator)
    kept = {name: found[name] for name in ("pearson", "mmrv", "bias", "kappa") if name in found}
    renamed = {f"{name}_truncated": metric for name, metric in kept.items()}
    whole = success(scores.true)
    if whole.any():
        renamed["successes_cut_off"] = Metric.rate(int((whole & ~true).sum()), int(whole.sum()))
    return renamed


WARNINGS = (
    ("uncertainty_auroc", "uncertainty"),
    ("uncertainty_most_auroc", "uncertainty_most"),
    ("outside_auroc", "outside"),
)


def _warnings(scores: Scores, generator: np.random.Generator) -> dict[str, Metric]:
    """How well what is known without the truth tells wrong episodes from right ones."""
    wrong = (success(scores.learned) != success(scores.true)).ravel()
    starts = np.broadcast_to(np.arange(len(scores.starts)), (len(scores.policies), len(scores.starts))).ravel()
    found = {}
    for name, field in WARNINGS:
        values = [getattr(outcome, field) for row in scores.learned for outcome in row]
        if None in values:
            continue
        doubt = np.array(values)
        if field == "outside":
            found["outside"] = Metric(float(doubt.mean()), n=len(doubt))
        value = _auroc(doubt, wrong)
        if value is not None:
            low, high = grouped_interval(
                lambda rows, doubt=doubt: _auroc(doubt[rows], wrong[rows]),  # type: ignore[misc]
                starts,
                generator,
                500,
            )
            found[name] = Metric(value, low, high, len(wrong))
    return found


def _second_judge(scores: Scores, generator: np.random.Generator) -> dict[str, Metric]:
    """Goal images against the truth, over the starts whose task they know."""
    columns = [i for i in range(len(scores.starts)) if all(row[i].goal is not None for row in scores.learned)]
    if not columns:
        return {}
    goal = np.array([[bool(row[i].goal) for i in columns] for row in scores.learned])
    true, head = (success(side)[:, columns] for side in (scores.true, scores.learned))
    found = agreement(goal, true, generator) | episode_agreement(goal, true, generator)
    kept = {f"{name}_goal": found[name] for name in ("pearson", "spearman", "bias", "kappa") if name in found}
    return kept | {"judges_agree": Metric.rate(int((goal == head).sum()), goal.size)}


def _auroc(score: NDArray[np.float64], event: NDArray[np.bool_]) -> float | None:
    return auroc(score, event) if 0 < event.mean() < 1 else None
