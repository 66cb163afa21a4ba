"""One start and one sequence of actions, lived through in both domains."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from teachers.teacher import Snapshot, Teacher, TeacherObservation, TeacherStep
from world_model.canvas import join
from world_model.data.episode import Episode
from world_model.data.pairs import DOMAINS, Pair
from world_model.errors import InputError

Dress = Callable[[int], Mapping[str, Any]]
"""Draws an appearance from a seed, puts it on, and tells what it drew."""


def undressed(seed: int) -> Mapping[str, Any]:
    """The appearance of a domain that always looks the same."""
    return {}


@dataclass(frozen=True)
class Notes:
    """What is written down about every moment of an episode."""

    state_names: tuple[str, ...]
    label_names: tuple[str, ...]
    state: Callable[[], NDArray[np.floating]]
    """Numbers of the present moment, as ``state_names``."""
    labels: Callable[[], Mapping[str, float]]


def notes_of(teacher: Teacher) -> Notes:
    """What a teacher itself tells."""
    return Notes(teacher.state_names, teacher.label_names, lambda: teacher.state, teacher.labels)


@runtime_checkable
class Dressed(Protocol):
    """A teacher that wears appearances."""

    def dress(self, seed: int) -> Mapping[str, Any]:
        """Draw the appearance that is worn from the next reset on, and tell its values."""

    def notes(self) -> Notes:
        """What the recorder of its world writes down."""


@dataclass(frozen=True)
class PairedStep:
    """The same moment in both domains."""

    sim: TeacherStep
    real: TeacherStep


def play(
    teacher: Teacher,
    start: str,
    actions: NDArray[Any],
    behaviour: str = "replay",
    task: int = 0,
    notes: Notes | None = None,
) -> Episode:
    """The episode of ``actions`` ``(T - 1, a, A)`` from a start, with frames, proprio, privileged state and labels.

    Args:
        notes: where state and labels come from; by default from the teacher.

    Raises:
        InputError: the teacher has no such start, or an action is not of its contract.
    """
    seen = [teacher.reset(start)]
    noted = notes or notes_of(teacher)
    states, labels = [noted.state()], [noted.labels()]
    for action in actions:
        seen.append(teacher.step(action).observation)
        states.append(noted.state())
        labels.append(noted.labels())
    shape = len(actions), teacher.contract.actions_per_frame, teacher.contract.action_dim
    return Episode(
        frames=np.stack([join(teacher.contract, one.frames) for one in seen]),
        proprio=np.stack([one.proprio for one in seen]),
        actions=np.asarray(actions, np.float32).reshape(shape),
        state=np.stack(states).astype(np.float32),
        labels={name: np.array([row[name] for row in labels], np.float32) for name in noted.label_names},
        start=start,
        behaviour=behaviour,
        task=task,
    )


class PairedTeacher:
    """Two teachers of one contract that are led by the same hand.

    Args:
        sim, real: a teacher of each domain.
        dress: draws and puts on the appearance of the real domain, before each start.

    Raises:
        ContractError: the teachers differ in what their numbers mean.
    """

    def __init__(self, sim: Teacher, real: Teacher, dress: Dress = undressed) -> None:
        real.contract.require_same(sim.contract, "the real domain", "the sim domain")
        self.sim, self.real, self._dress = sim, real, dress
        self.contract = sim.contract
        self.appearance: Mapping[str, Any] = {}

    def reset(self, start: str, seed: int = 0, render: bool = True) -> PairedStep:
        """Go to a start in both domains, the real one in the appearance of ``seed``.

        Raises:
            InputError: there is no such start.
        """
        self.appearance = self._dress(seed)
        seen: list[TeacherObservation] = [t.reset(start, render) for t in (self.sim, self.real)]
        return PairedStep(TeacherStep(seen[0], self.sim.labels()), TeacherStep(seen[1], self.real.labels()))

    def step(self, actions: NDArray[Any], render: bool = True) -> PairedStep:
        """Apply the actions ``(a, A)`` of one frame in both domains."""
        return PairedStep(self.sim.step(actions, render), self.real.step(actions, render))

    def play(self, start: str, actions: NDArray[Any], seed: int = 0) -> Pair:
        """The aligned clips of ``actions`` ``(T - 1, a, A)`` from a start.

        Raises:
            InputError: no such start, or an action is not of the contract.
        """
        self.appearance = self._dress(seed)
        return Pair(play(self.sim, start, actions), play(self.real, start, actions), self.appearance)

    def snapshot(self) -> Snapshot:
        """Both moments; the appearance is that of the last reset and not part of it."""
        sides = {"sim": self.sim.snapshot(), "real": self.real.snapshot()}
        return {f"{side}/{name}": array for side, saved in sides.items() for name, array in saved.items()}

    def restore(self, snapshot: Snapshot) -> None:
        """Go to both moments of a snapshot.

        Raises:
            InputError: it is not of a pair, or of other teachers.
        """
        for side, teacher in zip(DOMAINS, (self.sim, self.real), strict=True):
            saved = {n.removeprefix(f"{side}/"): a for n, a in snapshot.items() if n.startswith(f"{side}/")}
            if not saved:
                raise InputError(f"snapshot has nothing for the {side} domain; take it from a PairedTeacher")
            teacher.restore(saved)
