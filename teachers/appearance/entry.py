"""The `real` domain of LIBERO's suites in the registry of teachers, each by its suite's name."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from teachers.appearance.libero import RealLiberoTeacher
from teachers.libero.entry import ENTRIES, SuiteEntry, seen
from teachers.libero.teacher import LiberoConfig
from world_model.contract import Contract


@dataclass(frozen=True)
class RealSuiteEntry:
    """One suite under other looks."""

    plain: SuiteEntry

    def teacher_for(self, contract: Contract | None) -> RealLiberoTeacher:
        """A teacher with the contract's cameras, size, rate and look; without one it draws fewer faces, fast."""
        return RealLiberoTeacher(LiberoConfig(self.plain.suite, **({"look": "fast"} | seen(contract))))

    def training_start(self, generator: np.random.Generator) -> str:
        """A random training start of any task."""
        return self.plain.training_start(generator)


def __getattr__(name: str) -> RealSuiteEntry:
    plain = ENTRIES.get(name)
    if not isinstance(plain, SuiteEntry):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return RealSuiteEntry(plain)
