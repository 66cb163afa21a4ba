"""Distances between poses."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def position_error(a: ArrayLike, b: ArrayLike) -> NDArray[np.float64]:
    """Euclidean distance of points ``(..., D)``, in their unit: ``(...)``."""
    return np.linalg.norm(np.asarray(a, np.float64) - np.asarray(b, np.float64), axis=-1)


def angle_error(a: ArrayLike, b: ArrayLike) -> NDArray[np.float64]:
    """Smallest absolute difference of angles in radians, in degrees: in [0, 180]."""
    difference = np.asarray(a, np.float64) - np.asarray(b, np.float64)
    return np.degrees(np.abs((difference + np.pi) % (2 * np.pi) - np.pi))
