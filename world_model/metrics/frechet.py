"""Frechet distance of two sets of features, as FID and FVD take it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from world_model.errors import InputError

Features = NDArray[np.float64]


def frechet_distance(a: Features, b: Features, *, unbiased: bool = True) -> float:
    """Squared distance of the normal distributions fitted to ``(N, D)`` and ``(M, D)`` features; 0 for equal sets.

    ``unbiased`` divides second moments by N - 1 (as FID's code does), else by N (as FVD's does). The cross term, the
    trace of the root of the covariances' product, is the sum of the singular values of the product of the centred
    features: exact for fewer samples than dimensions too, where a matrix root is not.

    Raises:
        InputError: other shapes, fewer than two samples, or numbers that are not finite.
    """
    x, y = np.asarray(a, np.float64), np.asarray(b, np.float64)
    if x.ndim != 2 or y.ndim != 2 or x.shape[1] != y.shape[1] or min(len(x), len(y)) < 2:
        raise InputError(f"features are {x.shape} and {y.shape} but must be (N, D) and (M, D) of 2 samples and more")
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise InputError("features hold NaN or infinite values; check the pictures that they are of")
    between = float(np.square(x.mean(0) - y.mean(0)).sum())
    centred = [(v - v.mean(0)) / np.sqrt(len(v) - 1 if unbiased else len(v)) for v in (x, y)]
    traces = sum(float(np.square(v).sum()) for v in centred)
    left, right = (np.asarray(np.linalg.qr(v, mode="r")) if len(v) > v.shape[1] else v for v in centred)
    cross = float(np.linalg.svd(left @ right.T, compute_uv=False).sum())
    return max(between + traces - 2 * cross, 0.0)


def halves_distance(features: Features, groups: NDArray[np.int64], *, unbiased: bool = True) -> float | None:
    """Distance of every second group (episode) of true features to the others: the noise floor of so few samples.

    None where a half has fewer than two samples.
    """
    _, index = np.unique(groups, return_inverse=True)
    first, second = features[index % 2 == 0], features[index % 2 == 1]
    if min(len(first), len(second)) < 2:
        return None
    return frechet_distance(first, second, unbiased=unbiased)
