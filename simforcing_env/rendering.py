"""Rendered frames of vector environments."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

RENDER_MODES = ("rgb_array", "rgb_array_list")


def enlarge(frame: NDArray[np.uint8], scale: int) -> NDArray[np.uint8]:
    """``(H, W, 3)`` to ``(scale H, scale W, 3)`` by repeating pixels; a new array."""
    return frame.repeat(scale, 0).repeat(scale, 1)


class FrameCollector:
    """Keeps the frames since the last call for "rgb_array_list", and nothing for the other modes."""

    def __init__(self, num_envs: int, mode: str | None, scale: int) -> None:
        self._collects, self._scale = mode == "rgb_array_list", scale
        self._frames: list[list[NDArray[np.uint8]]] = [[] for _ in range(num_envs)]

    def clear(self, rows: NDArray[np.intp]) -> None:
        """Forget the frames of episodes that begin anew."""
        for row in rows:
            self._frames[row] = []

    def add(self, rows: NDArray[np.intp], images: NDArray[np.uint8], valid: NDArray[np.int64]) -> None:
        """Keep the first ``valid`` of each row's ``images`` ``(R, n, H, W, 3)``."""
        if self._collects:
            for row, clip, count in zip(rows, images, valid, strict=True):
                self._frames[row].extend(clip[:count])

    def render(self, present: NDArray[np.uint8]) -> tuple[Any, ...]:
        """Present frames ``(K, H, W, 3)`` as a tuple, or what was kept as a tuple of lists."""
        if not self._collects:
            return tuple(enlarge(frame, self._scale) for frame in present)
        kept, self._frames = self._frames, [[] for _ in self._frames]
        return tuple([enlarge(frame, self._scale) for frame in frames] for frames in kept)
