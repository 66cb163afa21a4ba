"""Bootstrap intervals of statistics that are not plain means."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray


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
