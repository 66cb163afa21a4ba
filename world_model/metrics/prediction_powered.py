"""Success rates from a few true and many imagined episodes, unbiased whatever the imagination is worth.

Prediction-powered inference: the mean of many imagined outcomes, plus what the true episodes say it is wrong by at the
same starts. How far imagination is trusted (``weight``) is set by how well the two went together.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from world_model.errors import InputError
from world_model.results import Metric, wilson

PSEUDO = 0.5  # observations added to each of the four pairs of outcomes when spreads are estimated


def corrected_rate(true: ArrayLike, imagined: ArrayLike, imagined_more: ArrayLike) -> tuple[Metric, float]:
    """Rate of true success with its 95 % interval, and the weight that imagination got in it.

    The spreads are estimated with half an observation added to each pair of outcomes, so that few true episodes which
    all agree do not make an interval without width; the interval is Student's.

    Args:
        true: ``(n,)`` outcomes, 0 or 1.
        imagined: ``(n,)`` outcomes imagined from the same starts.
        imagined_more: ``(N,)`` outcomes imagined from other starts of the same kind.

    Raises:
        InputError: shapes that do not fit, or fewer than two true or imagined outcomes.
    """
    from scipy.stats import t

    y, f, more = (np.asarray(values, np.float64) for values in (true, imagined, imagined_more))
    if y.shape != f.shape or y.ndim != 1 or more.ndim != 1 or len(y) < 2 or len(more) < 2:
        raise InputError(
            f"true {y.shape} and imagined {f.shape} outcomes must be of the same starts, with more imagined ones "
            f"{more.shape}; give at least 2 of each"
        )
    n, extra = len(y), len(more)
    y_all, f_all, weights = _with_pseudo(y, f)
    spread_f = _covariance(f_all, f_all, weights)
    weight = _covariance(y_all, f_all, weights) / ((1 + n / extra) * spread_f)
    weight = float(np.clip(weight, 0.0, 1.0))
    rest = y_all - weight * f_all
    variance = weight**2 * spread_f / extra + _covariance(rest, rest, weights) / n
    value = weight * float(more.mean()) + float((y - weight * f).mean())
    half = float(t.ppf(0.975, n - 1)) * math.sqrt(variance)
    # The rate itself may leave [0, 1] by chance; an interval that is cut there still covers what is inside.
    low, high = max(0.0, min(value - half, 1.0)), min(1.0, max(value + half, 0.0))
    return Metric(min(max(value, 0.0), 1.0), low, high, n), weight


class Trial(NamedTuple):
    """Of repeated draws: how often intervals hold the truth, and how wide they are."""

    coverage: float
    width: float
    coverage_true_only: float
    width_true_only: float


def simulate(
    true: ArrayLike, imagined: ArrayLike, n: int, extra: int, generator: np.random.Generator, repeats: int = 1000
) -> Trial:
    """Draw n true and ``extra`` imagined episodes again and again from paired outcomes that stand for the whole world.

    `corrected_rate` is held against the Wilson interval of the n true episodes alone.

    Args:
        true: ``(M,)`` outcomes of which the mean is the truth.
        imagined: ``(M,)`` outcomes imagined from the same starts.
    """
    y, f = np.asarray(true, np.float64), np.asarray(imagined, np.float64)
    held, widths, held_only, widths_only = [], [], [], []
    for _ in range(repeats):
        rows = generator.integers(0, len(y), n)
        more = generator.integers(0, len(y), extra)
        rate, _ = corrected_rate(y[rows], f[rows], f[more])
        assert rate.low is not None
        assert rate.high is not None
        held.append(rate.low <= y.mean() <= rate.high)
        widths.append(rate.high - rate.low)
        low, high = wilson(int(y[rows].sum()), n)
        held_only.append(low <= y.mean() <= high)
        widths_only.append(high - low)
    return Trial(*(float(np.mean(values)) for values in (held, widths, held_only, widths_only)))


def _with_pseudo(
    y: NDArray[np.float64], f: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    added_y, added_f = np.array([0.0, 0.0, 1.0, 1.0]), np.array([0.0, 1.0, 0.0, 1.0])
    weights = np.concatenate([np.ones(len(y)), np.full(4, PSEUDO)])
    return np.concatenate([y, added_y]), np.concatenate([f, added_f]), weights


def _covariance(a: NDArray[np.float64], b: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
    a, b = a - np.average(a, weights=weights), b - np.average(b, weights=weights)
    return float(np.average(a * b, weights=weights))
