"""A moment of a world as one row of numbers, from which it goes on exactly.

The row leaves out what an episode's start settles (the poses of fixtures): go to the start first.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from teachers.libero.physics import Saved
from world_model.errors import InputError

SETTLED = ("body_pos", "body_quat")


def flat_size(saved: Saved) -> int:
    """Numbers in the flat form of a snapshot."""
    return sum(array.size for name, array in saved.items() if name not in SETTLED)


def flatten(saved: Saved, width: int = 0) -> NDArray[np.float64]:
    """A snapshot as ``(max(width, its size),)`` float64; what is left over is zero."""
    parts = [np.ravel(array) for name, array in saved.items() if name not in SETTLED]
    flat = np.concatenate(parts)
    return np.pad(flat, (0, max(0, width - len(flat))))


def unflatten(row: NDArray[np.float64], start: Saved) -> dict[str, NDArray[np.float64]]:
    """The snapshot of a row; ``start`` is one of the same world at the episode's start.

    Raises:
        InputError: the row is of another scene.
    """
    size = flat_size(start)
    if row.ndim != 1 or len(row) < size or row[size:].any():
        raise InputError(
            f"a simulation state of shape {row.shape} is not of this scene, whose states have {size} numbers; "
            "restore it in the task that it was recorded in"
        )
    saved, at = {}, 0
    for name, array in start.items():
        if name in SETTLED:
            saved[name] = array
        else:
            saved[name] = np.asarray(row[at : at + array.size], np.float64).reshape(array.shape)
            at += array.size
    return saved
