"""LIBERO's suites and robosuite's tasks in the registry of teachers, each by its contract's name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from teachers.libero.robosuite import SEEDS, TASKS, RobosuiteConfig, RobosuiteTeacher
from teachers.libero.suites import SUITES, starts
from teachers.libero.teacher import LiberoConfig, LiberoTeacher
from world_model.contract import Contract


@dataclass(frozen=True)
class SuiteEntry:
    """One suite of LIBERO."""

    suite: str

    def teacher_for(self, contract: Contract | None) -> LiberoTeacher:
        """A teacher with the contract's cameras, size, rate and look."""
        return LiberoTeacher(LiberoConfig(self.suite, **seen(contract)))

    def training_start(self, generator: np.random.Generator) -> str:
        """A random training start of any task."""
        names = starts(self.suite)
        return names[int(generator.integers(len(names)))]


@dataclass(frozen=True)
class RobosuiteEntry:
    """One task of robosuite."""

    task: str

    def teacher_for(self, contract: Contract | None) -> RobosuiteTeacher:
        """A teacher with the contract's cameras, size, rate and look."""
        return RobosuiteTeacher(RobosuiteConfig(self.task, **seen(contract)))

    def training_start(self, generator: np.random.Generator) -> str:
        """A random training start."""
        return f"{self.task}/{generator.integers(*SEEDS['train'])}"


def seen(contract: Contract | None) -> dict[str, Any]:
    """Fields of the teachers' configs that a contract settles."""
    if contract is None:
        return {}
    names = tuple(camera.name for camera in contract.cameras)
    look = contract.look or "stock"
    return {"cameras": names, "size": contract.cameras[0].height, "frame_hz": contract.frame_hz, "look": look}


ENTRIES: dict[str, SuiteEntry | RobosuiteEntry] = {
    **{suite: SuiteEntry(suite) for suite in SUITES},
    **{f"robosuite_{task.lower()}": RobosuiteEntry(task) for task in TASKS},
}


def __getattr__(name: str) -> SuiteEntry | RobosuiteEntry:
    if name not in ENTRIES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return ENTRIES[name]
