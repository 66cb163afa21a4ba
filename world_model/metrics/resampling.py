"""Bootstrap intervals of statistics that are not means of independent values."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from world_model.results import Metric


def grouped_interval(
    statistic: Callable[[NDArray[np.intp]], float | None],
    groups: NDArray[np.int64],
    generator: np.random.Generator,
    resamples: int = 1000,
) -> tuple[float, float] | tuple[None, None]:
    """95 % percentile bootstrap interval when whole groups (episodes) are drawn again.

    Args:
        statistic: value of the rows with the given indices, None where they have none.
        groups: ``(N,)`` the group of each row.

    Returns:
        ``(None, None)`` for a single group, or if fewer than half of the resamples have a value.
    """
    _, index = np.unique(groups, return_inverse=True)
    rows = np.split(np.argsort(index, kind="stable"), np.cumsum(np.bincount(index))[:-1])
    if len(rows) < 2:
        return None, None
    found = []
    for _ in range(resamples):
        drawn = generator.integers(0, len(rows), len(rows))
        value = statistic(np.concatenate([rows[i] for i in drawn]))
        if value is not None:
            found.append(value)
    if 2 * len(found) < resamples:
        return None, None
    low, high = np.quantile(found, (0.025, 0.975))
    return float(low), float(high)


class Curve(NamedTuple):
    """Means of columns with their intervals; NaN where there is none."""

    mean: NDArray[np.float64]  # (F,)
    low: NDArray[np.float64]  # (F,)
    high: NDArray[np.float64]  # (F,)
    groups: NDArray[np.int64]  # (F,) groups that have a value


def curve_over_groups(
    values: NDArray[np.floating], groups: NDArray[np.int64], generator: np.random.Generator, resamples: int = 1000
) -> Curve:
    """Mean of each column of ``(N, F)`` values, NaN being none, when whole groups (episodes) are drawn again.

    A group counts as often as it has values. An interval needs two groups in its column.
    """
    names, index = np.unique(groups, return_inverse=True)
    there = np.isfinite(values)
    sums, counts = (np.zeros((len(names), values.shape[1])) for _ in range(2))
    np.add.at(sums, index, np.where(there, values, 0.0))
    np.add.at(counts, index, there.astype(np.float64))
    drawn = generator.multinomial(len(names), np.full(len(names), 1 / len(names)), resamples).astype(np.float64)
    with np.errstate(invalid="ignore"):
        mean, again = sums.sum(0) / counts.sum(0), (drawn @ sums) / (drawn @ counts)
    held = (counts > 0).sum(0)
    low, high = np.full((2, values.shape[1]), np.nan)
    if (some := held > 1).any():
        low[some], high[some] = np.nanquantile(again[:, some], (0.025, 0.975), axis=0)
    return Curve(mean, low, high, held)


def mean_over_groups(
    values: NDArray[np.floating], groups: NDArray[np.int64], generator: np.random.Generator, unit: str = ""
) -> Metric:
    """Mean of all ``(N,)`` values with an interval over their groups (episodes), which are its ``n``.

    Unlike a mean of the groups' means, a group counts as often as it has values.
    """
    mean, low, high, held = (column[0].item() for column in curve_over_groups(values[:, None], groups, generator))
    return Metric(mean, None if held < 2 else low, None if held < 2 else high, held, unit)
