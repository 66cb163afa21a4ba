"""What every true simulator offers: the same verbs for Push-T, LIBERO and the rest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from world_model.contract import Contract

Snapshot = Mapping[str, NDArray[Any]]
"""A teacher's complete state as named arrays of numbers and text; `numpy.savez` keeps it without pickle."""


@dataclass(frozen=True)
class TeacherObservation:
    """What a policy may see."""

    frames: Mapping[str, NDArray[np.uint8]]  # camera name -> (H, W, 3) RGB; empty if not rendered
    proprio: NDArray[np.float32]  # (P,) in the contract's units


@dataclass(frozen=True)
class TeacherStep:
    """An observation and the truth about it."""

    observation: TeacherObservation
    labels: Mapping[str, float]  # one number for each of the teacher's `label_names`


class Teacher(Protocol):
    """A true simulator that can be saved, restored and branched exactly at any moment.

    ``label_names`` starts with "reward" and "success"; ``state_names`` names the privileged
    numbers that are recorded beside an observation.
    """

    contract: Contract
    label_names: tuple[str, ...]
    state_names: tuple[str, ...]

    def reset(self, start: str, render: bool = True) -> TeacherObservation:
        """Go to a named start.

        Raises:
            InputError: this teacher has no such start.
        """

    def step(self, actions: NDArray[Any], render: bool = True) -> TeacherStep:
        """Apply the actions ``(a, A)`` of one frame, in the contract's units.

        Raises:
            InputError: wrong shape, NaN, out of bounds, or no reset yet.
        """

    def labels(self) -> dict[str, float]:
        """Truth about the present state."""

    def render(self) -> dict[str, NDArray[np.uint8]]:
        """Present frame of each camera, ``(H, W, 3)`` RGB."""

    @property
    def state(self) -> NDArray[np.float64]:
        """Privileged numbers ``(S,)`` of the present state, as `state_names`."""

    def snapshot(self) -> Snapshot:
        """All that `restore` needs to go on exactly as from here."""

    def restore(self, snapshot: Snapshot) -> None:
        """Go to the moment of a snapshot, taken from this or any teacher of the same kind.

        Raises:
            InputError: the snapshot is of another kind of teacher.
        """

    def branch(self, k: int) -> list[Self]:
        """``k`` independent teachers in the present state."""
