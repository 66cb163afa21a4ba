"""How well scores of one kind (imagined) agree with scores of another (true): over policies and over episodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from world_model.errors import InputError
from world_model.results import Metric

Array = NDArray[np.float64]
Statistic = Callable[[Array, Array], "float | None"]
"""Of imagined and true scores ``(P,)``; None where they do not allow it."""


def pearson(imagined: Array, true: Array) -> float | None:
    """Linear correlation; None where a side does not vary."""
    from scipy.stats import pearsonr

    return float(pearsonr(imagined, true).statistic) if _vary(imagined, true) else None


def spearman(imagined: Array, true: Array) -> float | None:
    """Correlation of ranks; tied scores share the mean of their ranks."""
    from scipy.stats import spearmanr

    return float(spearmanr(imagined, true).statistic) if _vary(imagined, true) else None


def kendall(imagined: Array, true: Array) -> float | None:
    """Tau-b: concordant less discordant pairs, with ties of either side taken out of the count."""
    from scipy.stats import kendalltau

    return float(kendalltau(imagined, true).statistic) if _vary(imagined, true) else None


def mmrv(imagined: ArrayLike, true: ArrayLike) -> float:
    """Mean maximum rank violation: for each policy the largest true difference that is ranked wrongly, then the mean.

    Policies i and j are ranked wrongly if ``imagined[i] < imagined[j]`` and ``true[i] < true[j]`` differ, both
    strict. So a pair that is tied in truth costs nothing, and a pair that is tied in imagination alone is a violation
    for the policy that is truly worse.
    """
    s, r = np.asarray(imagined, np.float64), np.asarray(true, np.float64)
    wrong = (s[:, None] < s) != (r[:, None] < r)
    worst: Array = (np.abs(r[:, None] - r) * wrong).max(1)
    return float(worst.mean())


def bias(imagined: Array, true: Array) -> float:
    """Mean of imagined less true."""
    return float((imagined - true).mean())


def absolute_bias(imagined: Array, true: Array) -> float:
    """Mean size of imagined less true, over policies."""
    return float(np.abs(imagined - true).mean())


STATISTICS: Mapping[str, Statistic] = {
    "pearson": pearson,
    "spearman": spearman,
    "kendall": kendall,
    "mmrv": mmrv,
    "bias": absolute_bias,
    "bias_signed": bias,
}


def agreement(
    imagined: ArrayLike, true: ArrayLike, generator: np.random.Generator, resamples: int = 1000
) -> dict[str, Metric]:
    """`STATISTICS` of mean scores, with 95 % intervals from drawing both policies and starts again.

    Args:
        imagined: ``(P, S)`` score of each policy from each start.
        true: the same, from the same starts.

    Raises:
        InputError: two shapes, or fewer than two policies.
    """
    a, b = np.asarray(imagined, np.float64), np.asarray(true, np.float64)
    if a.shape != b.shape or a.ndim != 2 or len(a) < 2 or not a.shape[1]:
        raise InputError(f"scores {a.shape} and {b.shape} must be of at least 2 policies from the same starts")
    draws: dict[str, list[float]] = {name: [] for name in STATISTICS}
    for _ in range(resamples):
        rows = generator.integers(0, len(a), len(a))
        columns = generator.integers(0, a.shape[1], a.shape[1])
        x, y = (s[np.ix_(rows, columns)].mean(1) for s in (a, b))
        for name, statistic in STATISTICS.items():
            value = statistic(x, y)
            if value is not None:
                draws[name].append(value)
    found = {}
    for name, statistic in STATISTICS.items():
        value = statistic(a.mean(1), b.mean(1))
        if value is None:
            continue
        low, high = np.quantile(draws[name], (0.025, 0.975)) if 2 * len(draws[name]) >= resamples else (None, None)
        found[name] = Metric(value, None if low is None else float(low), None if high is None else float(high), len(a))
    return found


def cohen_kappa(truth: ArrayLike, guess: ArrayLike) -> float | None:
    """Agreement beyond chance of two rows of yes and no; None where chance alone agrees always."""
    t, g = np.asarray(truth, np.bool_), np.asarray(guess, np.bool_)
    chance = t.mean() * g.mean() + (1 - t.mean()) * (1 - g.mean())
    return None if chance == 1 else float(((t == g).mean() - chance) / (1 - chance))


def _vary(a: Array, b: Array) -> bool:
    return bool(np.ptp(a) > 0 and np.ptp(b) > 0)
