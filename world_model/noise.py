"""Noise that belongs to an episode: keyed by (episode seed, frame index, denoising step) and by nothing else.

Philox is counter based: the key names a stream and the counter a place in it, so frame 900 of an episode costs
as much as frame 1 and no stream depends on the batch, the slot or the neighbours.
"""

from __future__ import annotations

from math import prod

import numpy as np
from numpy.typing import NDArray

_WORD = (1 << 64) - 1


def frame_generator(seed: int, frame: int, step: int) -> np.random.Generator:
    """Generator of one episode seed (0 to 2^64 - 1), frame index and denoising step."""
    key = np.array([seed & _WORD, frame], np.uint64)
    return np.random.Generator(np.random.Philox(key=key, counter=np.array([0, 0, 0, step], np.uint64)))


def frame_noise(
    seeds: NDArray[np.int64], frames: NDArray[np.int64], step: int, shape: tuple[int, ...]
) -> NDArray[np.float32]:
    """Standard normal noise ``(B, n, *shape)`` for ``seeds`` ``(B,)`` and frame indices ``frames`` ``(B, n)``.

    Rows with the same seed and index get the same numbers (branches that share noise draw them once).
    """
    noise = np.empty((frames.size, prod(shape)), np.float32)
    drawn: dict[tuple[int, int], int] = {}
    keys = zip(np.repeat(seeds, frames.shape[1]).tolist(), frames.ravel().tolist(), strict=True)
    for index, (seed, frame) in enumerate(keys):
        first = drawn.setdefault((seed, frame), index)
        if first < index:
            noise[index] = noise[first]
        else:
            frame_generator(seed, frame, step).standard_normal(out=noise[index], dtype=np.float32)
    return noise.reshape(*frames.shape, *shape)


def branch_seeds(seed: int, count: int) -> NDArray[np.int64]:
    """``count`` seeds in [0, 2^63) derived from one, for branches that must not share its noise."""
    words = np.random.SeedSequence([seed & _WORD, 0xB4A7C4]).generate_state(count, np.uint64)
    return (words >> np.uint64(1)).astype(np.int64)
