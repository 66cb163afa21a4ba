"""What stands behind a vector environment: a learned simulator or true ones, in ``num_envs`` slots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from world_model.contract import Contract


@dataclass(frozen=True)
class Start:
    """Where an episode begins: a name that the backend knows, or a picture and proprio of the user's."""

    name: str
    frame: NDArray[np.uint8] | None = None  # (H, W, 3)
    proprio: NDArray[np.float32] | None = None  # (P,) in units
    task: int | None = None  # of a suite; None: the name tells it


@dataclass(frozen=True)
class Frames:
    """n frames of R episodes and what is known about them."""

    images: NDArray[np.uint8]  # (R, n, H, W, 3)
    proprio: NDArray[np.float32]  # (R, n, P) in units
    rewards: NDArray[np.float64]  # (R, n)
    success: NDArray[np.float64]  # (R, n) probability in [0, 1]
    uncertainty: NDArray[np.float64]  # (R, n) expected squared error of a frame; 0 for a true simulator
    labels: dict[str, NDArray[np.float64]]  # (R, n) each


class Backend(Protocol):
    """``num_envs`` episodes side by side; ``rows`` are slot numbers, each at most once."""

    contract: Contract

    @property
    def label_names(self) -> Sequence[str]:
        """Names of `Frames.labels`."""

    @property
    def identity(self) -> dict[str, Any]:
        """JSON-able numbers and names; snapshots go between backends of equal identity only."""

    def draw_start(self, generator: np.random.Generator) -> str:
        """A start for an episode for which none was asked."""

    def reset(self, rows: NDArray[np.intp], starts: Sequence[Start], seeds: NDArray[np.int64]) -> Frames:
        """Begin episodes; returns one frame for each.

        Raises:
            InputError: an unknown start, or one that cannot be made here.
        """

    def advance(self, rows: NDArray[np.intp], actions: NDArray[np.float32]) -> Frames:
        """Go on by the checked actions ``(R, n, a, A)`` of n frames."""

    def branch(self, row: int, count: int, share_noise: bool) -> Backend:
        """A new backend with ``count`` copies of one slot."""

    def save(self) -> dict[str, NDArray[Any]]:
        """The state of all slots."""

    def load(self, arrays: Mapping[str, NDArray[Any]], count: int) -> None:
        """Return to what `save` gave for ``count`` slots.

        Raises:
            DataError: a damaged state; everything stays as it is.
        """

    def close(self) -> None:
        """Release what is held."""
