"""What a chunk of frames is worth and where it ends: pure functions of its rewards and success probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class ChunkEnds:
    """Of R episodes' chunks."""

    frames_valid: NDArray[np.int64]  # (R,) frames that count: up to and with the first success
    reward: NDArray[np.float64]  # (R,) sum of the rewards of those frames
    terminated: NDArray[np.bool_]  # (R,) whether there was a success


def chunk_ends(rewards: NDArray[Any], success: NDArray[Any], threshold: float) -> ChunkEnds:
    """Where chunks end: at the first frame whose success probability is above ``threshold``, else at the last.

    Frames after a success count for nothing, so a success that is undone later in the chunk is still one.

    Args:
        rewards: ``(R, n)``.
        success: ``(R, n)`` probabilities in [0, 1].
    """
    hit: NDArray[np.bool_] = np.asarray(success > threshold)
    terminated: NDArray[np.bool_] = np.any(hit, axis=1)
    valid = np.where(terminated, hit.argmax(axis=1) + 1, rewards.shape[1])
    counted = np.arange(rewards.shape[1]) < valid[:, None]
    return ChunkEnds(valid, (rewards * counted).sum(axis=1, dtype=np.float64), terminated)
