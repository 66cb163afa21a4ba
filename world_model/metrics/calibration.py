"""How far probabilities of yes-or-no events can be trusted."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from world_model.errors import InputError


class Reliability(NamedTuple):
    """Equal-width bins of predicted probability; empty bins are left out."""

    predicted: NDArray[np.float64]  # (bins,) mean probability in the bin
    observed: NDArray[np.float64]  # (bins,) share of events in the bin
    counts: NDArray[np.int64]  # (bins,)


def reliability(probability: ArrayLike, event: ArrayLike, bins: int = 10) -> Reliability:
    """Reliability curve of ``(N,)`` probabilities against ``(N,)`` events (0 or 1)."""
    p, y = _checked(probability, event)
    index = np.minimum((p * bins).astype(np.int64), bins - 1)
    count = np.bincount(index, minlength=bins)
    full = count > 0
    predicted = np.bincount(index, weights=p, minlength=bins)[full] / count[full]
    observed = np.bincount(index, weights=y, minlength=bins)[full] / count[full]
    return Reliability(predicted, observed, count[full])


def expected_calibration_error(probability: ArrayLike, event: ArrayLike, bins: int = 10) -> float:
    """Mean distance of the reliability curve from the diagonal, weighted by the bins' counts."""
    curve = reliability(probability, event, bins)
    return float((np.abs(curve.predicted - curve.observed) * curve.counts).sum() / curve.counts.sum())


def brier(probability: ArrayLike, event: ArrayLike) -> float:
    """Mean squared difference of probability and event: 0 is perfect, base rate times its rest is no skill."""
    p, y = _checked(probability, event)
    return float(np.square(p - y).mean())


def auroc(score: ArrayLike, event: ArrayLike) -> float:
    """Chance that a random event has a higher score than a random non-event; ties count half.

    Raises:
        InputError: all events are alike, so that there is no pair.
    """
    s, y = np.asarray(score, np.float64), np.asarray(event, np.float64)
    positives, negatives = s[y > 0.5], s[y <= 0.5]
    if not len(positives) or not len(negatives):
        raise InputError(f"AUROC needs both outcomes but {len(positives)} of {len(s)} are events; add the other kind")
    ordered = np.sort(negatives)
    below = np.searchsorted(ordered, positives, "left")
    up_to = np.searchsorted(ordered, positives, "right")
    return float((below + up_to).sum() / (2 * len(positives) * len(negatives)))


def _checked(probability: ArrayLike, event: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    p, y = np.asarray(probability, np.float64), np.asarray(event, np.float64)
    if p.shape != y.shape or p.ndim != 1 or not len(p):
        raise InputError(f"probabilities {p.shape} and events {y.shape} must be two rows of one length, not empty")
    if not ((p >= 0) & (p <= 1)).all() or not np.isin(y, (0.0, 1.0)).all():
        raise InputError("probabilities must lie in [0, 1] and events be 0 or 1; check that no score was passed as one")
    return p, y
