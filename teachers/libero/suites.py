"""The five LIBERO suites, their tasks and the names of starts.

A start is "<suite>/<task>/<init>": "libero_goal/3/17" is the 18th of the 50 recorded initial states of the fourth task.
A task is a number or its long name. Which split a start belongs to is fixed by its initial state once and for ever.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from teachers.libero.simulator import libero, private
from world_model.errors import InputError

SUITES = ("libero_spatial", "libero_object", "libero_goal", "libero_10", "libero_90")
SPLITS = {"train": range(0, 30), "validation": range(30, 40), "test": range(40, 50)}
INITS = 50


@dataclass(frozen=True)
class Task:
    """One task of a suite."""

    suite: str
    index: int
    name: str
    language: str
    """The instruction in English."""
    bddl: Path
    """Scene, initial placement and goal."""


class Start(NamedTuple):
    """A parsed start."""

    task: Task
    init: int

    def __str__(self) -> str:
        return f"{self.task.suite}/{self.task.index}/{self.init}"


@functools.cache
def tasks(suite: str) -> tuple[Task, ...]:
    """All tasks of a suite, in the benchmark's own order.

    Raises:
        InputError: there is no such suite.
        MissingExtraError: the "libero" extra is not installed.
    """
    if suite not in SUITES:
        raise InputError(f"there is no LIBERO suite {suite!r}; the suites are {', '.join(SUITES)}")
    benchmark = _benchmark(suite)
    with private():
        return tuple(
            Task(suite, index, task.name, task.language, Path(benchmark.get_task_bddl_file_path(index)))
            for index, task in enumerate(benchmark.tasks)
        )


def find_task(suite: str, task: int | str) -> Task:
    """A task by its number or its name.

    Raises:
        InputError: there is no such suite or task.
    """
    known = tasks(suite)
    if isinstance(task, int) or task.isdecimal():
        if 0 <= int(task) < len(known):
            return known[int(task)]
        raise InputError(f"{suite} has no task {task}; its tasks are numbered 0 to {len(known) - 1}")
    for candidate in known:
        if candidate.name == task:
            return candidate
    raise InputError(f"{suite} has no task {task!r}; give a number from 0 to {len(known) - 1} or one of its names")


def parse_start(name: str) -> Start:
    """Read a start's name.

    Raises:
        InputError: not of the form above, or no such suite, task or initial state.
    """
    parts = name.split("/")
    if len(parts) != 3 or not parts[2].isdecimal():
        raise InputError(f"start {name!r} is unknown; use '<suite>/<task>/<init>' such as 'libero_goal/0/12'")
    if int(parts[2]) >= INITS:
        raise InputError(f"start {name!r} has no initial state {parts[2]}; they are numbered 0 to {INITS - 1}")
    return Start(find_task(parts[0], parts[1]), int(parts[2]))


def starts(suite: str, split: str = "train", chosen: Sequence[int | str] | None = None) -> list[str]:
    """Names of all starts of a split, of some tasks or of all.

    Raises:
        InputError: there is no such suite, task or split.
    """
    if split not in SPLITS:
        raise InputError(f"there is no split {split!r}; use {', '.join(SPLITS)}")
    known = tasks(suite) if chosen is None else [find_task(suite, task) for task in chosen]
    return [str(Start(task, init)) for task in known for init in SPLITS[split]]


@functools.cache
def initial_states(task: Task) -> NDArray[np.float64]:
    """Time, positions and velocities ``(50, 1 + nq + nv)`` of a task's initial states."""
    benchmark = _benchmark(task.suite)
    with private():
        return benchmark.get_task_init_states(task.index)


@functools.cache
def _benchmark(suite: str) -> Any:
    module = libero("benchmark")
    with private():
        return module.get_benchmark(suite)()
