"""From the predicates of a task's goal to the steps of an expert, in an order that works. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from world_model.errors import InputError

Verb = Literal["turn off", "turn on", "open", "close", "put"]

VERBS: MappingProxyType[str, Verb] = MappingProxyType(
    {"turnoff": "turn off", "turnon": "turn on", "open": "open", "close": "close", "in": "put", "on": "put"}
)
"""Predicate of a goal, in lower case, to what makes it true."""


@dataclass(frozen=True)
class Step:
    """One thing to do; ``predicate`` tells whether it is done."""

    verb: Verb
    thing: str
    target: str | None
    predicate: tuple[str, ...]


def plan(goal: Sequence[Sequence[str]]) -> tuple[Step, ...]:
    """Steps for the predicates of a goal, such as ``[["in", "bowl_1", "cabinet_1_top_region"]]``.

    What will be filled is closed last and everything else is closed first; a thing that others are put on is
    put first; a stove is switched before its top is full.

    Raises:
        InputError: a predicate that no step makes true.
    """
    steps = []
    for predicate in goal:
        verb = VERBS.get(predicate[0].lower())
        if verb is None or len(predicate) != (3 if verb == "put" else 2):
            raise InputError(f"no expert makes {tuple(predicate)} true; choose a task of {', '.join(VERBS)}")
        steps.append(Step(verb, predicate[1], predicate[2] if verb == "put" else None, tuple(predicate)))
    filled = [step.target for step in steps if step.target is not None]
    carried = {step.thing for step in steps if step.verb == "put"}

    def rank(step: Step) -> tuple[int, int]:
        if step.verb == "close":
            last = any(target.startswith(step.thing) for target in filled if _is_inside(target))
            return (4 if last else 1), 0
        return {"turn off": 0, "open": 2, "turn on": 2, "put": 3}[step.verb], int(step.target in carried)

    return tuple(sorted(steps, key=rank))


def _is_inside(target: str) -> bool:
    """A place inside of a fixture, as against the top of it."""
    return target.endswith("_region")
