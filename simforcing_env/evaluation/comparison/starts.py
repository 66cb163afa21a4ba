"""Which starts a comparison runs from, where the user names none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from world_model.errors import InputError
from world_model.extras import require
from world_model.pretrained import task_of

Split = Literal["validation", "test"]


def _pusht(name: str, split: Split, episodes: int, together: int) -> list[str]:
    first = require("teachers.pusht.starts", "pusht").SEEDS[split][0]
    return [f"seed-{first + i}" for i in range(episodes)]


def _libero(name: str, split: Split, episodes: int, together: int) -> list[str]:
    """The first ``episodes`` initial states of every task: some of each task in turn, then some more of each."""
    module = require("teachers.libero.suites", "libero")
    suite = name.removesuffix("-real")
    found: dict[str, list[str]] = {}
    for start in module.starts(suite, split):
        found.setdefault(start.split("/")[1], []).append(start)
    shortest = min(len(some) for some in found.values())
    if episodes > shortest:
        raise InputError(f"--episodes is {episodes} but {split} has {shortest} starts of each task; ask for fewer")
    parts = [(first, min(first + together, episodes)) for first in range(0, episodes, together)]
    return [start for first, last in parts for some in found.values() for start in some[first:last]]


FIRST_STARTS: Mapping[str, Callable[[str, Split, int, int], list[str]]] = {"pusht": _pusht, "libero": _libero}
"""Beginning of a world's name to its starts, ``episodes`` of each task."""


def first_of_tasks(starts: Sequence[str], episodes: int) -> list[str]:
    """The first ``episodes`` of each task among starts."""
    counted: Counter[int] = Counter()
    kept = []
    for start in starts:
        counted[task_of(start)] += 1
        kept += [start] if counted[task_of(start)] <= episodes else []
    return kept


def task_words(world: str) -> tuple[str, ...]:
    """What each task of a world asks for in words, by its number; none where tasks have no words here."""
    if not world.startswith("libero"):
        return ()
    tasks = require("teachers.libero.suites", "libero").tasks(world.removesuffix("-real"))
    return tuple(str(task.language) for task in tasks)


def first_starts(world: str, split: Split, episodes: int, together: int = 25) -> list[str]:
    """The first starts of a split, ``episodes`` of each task, of which ``together`` run side by side.

    Raises:
        InputError: a world whose starts have to be named, or more than there are.
    """
    for beginning, starts in FIRST_STARTS.items():
        if world.startswith(beginning):
            return starts(world, split, episodes, together)
    raise InputError(f"world {world!r} has no list of starts here; name them with --starts")
