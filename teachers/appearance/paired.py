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


@runtime_checkable
class Dressed(Protocol):
    """A teacher that wears appearances."""

    def dress(self, seed: int) -> Mapping[str, Any]:
        """Draw the appearance that is worn from the next reset on, and tell its values."""


@dataclass(frozen=True)
class PairedStep:
    """The same moment in both domains."""

    sim: TeacherStep
    real: TeacherStep


def play(teacher: Teacher, start: str, actions: NDArray[Any], behaviour: str = "replay", task: int = 0) -> Episode:
    """The episode of ``actions`` ``(T - 1, a, A)`` from a start, with frames, proprio, privileged state and labels.

    Raises:
        InputError: the teacher has no such start, or an action is not of its contract.
    """
    steps = [TeacherStep(teacher.reset(start), teacher.labels())]
    states = [teacher.state]
    for action in actions:
        steps.append(teacher.step(action))
        states.append(teacher.state)
    shape = len(actions), teacher.contract.actions_per_frame, teacher.contract.action_dim
    return Episode(
        frames=np.stack([join(teacher.contract, step.observation.frames) for step in steps]),
        proprio=np.stack([step.observation.proprio for step in steps]),
        actions=np.asarray(actions, np.float32).reshape(shape),
        state=np.stack(states).astype(np.float32),
        labels={name: np.array([s.labels[name] for s in steps], np.float32) for name in teacher.label_names},
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
