"""Does the model know where it errs: its uncertainty held against what was measured, over clips."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from world_model.metrics.calibration import auroc
from world_model.metrics.resampling import grouped_interval
from world_model.results import Metric

WRONG_PX = 12.0  # block position error from which a frame counts as wrong
Array = NDArray[np.float64]


def trust_metrics(uncertainty: Array, error: Array, groups: Any, generator: np.random.Generator) -> dict[str, Metric]:
    """How well ``uncertainty`` ``(B,)`` orders clips by their position ``error`` ``(B,)`` px; intervals over groups.

    ``spearman``: rank correlation. ``auroc``: chance that a wrong clip (`WRONG_PX`) is less certain than a right one.
    A measure that the clips do not allow (no variation, no wrong clip) is left out.
    """
    measures: dict[str, Callable[[Any], float | None]] = {
        "spearman": lambda rows: _spearman(uncertainty[rows], error[rows]),
        "auroc": lambda rows: _auroc(uncertainty[rows], error[rows] > WRONG_PX),
    }
    found = {}
    for name, measure in measures.items():
        value = measure(np.arange(len(error)))
        if value is not None:
            low, high = grouped_interval(measure, groups, generator)
            found[name] = Metric(value, low, high, len(error))
    return found


def _spearman(a: Array, b: Array) -> float | None:
    from scipy.stats import spearmanr

    return float(spearmanr(a, b).statistic) if np.ptp(a) > 0 and np.ptp(b) > 0 else None


def _auroc(score: Array, wrong: NDArray[np.bool_]) -> float | None:
    return auroc(score, wrong) if 0 < wrong.mean() < 1 else None
