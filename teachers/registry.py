"""Every true simulator: where it lives and which extra it needs. Nothing is imported until it is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from teachers.teacher import Teacher
from world_model.contract import Contract
from world_model.errors import InputError
from world_model.extras import require


@dataclass(frozen=True)
class Entry:
    """Where to find ``teacher_for(contract | None) -> Teacher`` and ``training_start(generator) -> str``."""

    module: str
    """A module, or "module:name" of something in it, that has these two functions."""
    extra: str


LIBERO = ("libero_spatial", "libero_object", "libero_goal", "libero_10", "libero_90")
ROBOSUITE = (
    *("lift", "stack", "door", "nutassemblysquare", "nutassemblyround"),
    *("pickplacemilk", "pickplacebread", "pickplacecereal", "pickplacecan"),
)
TEACHERS = MappingProxyType(
    {
        "pusht": Entry("teachers.pusht.entry", "pusht"),
        "pusht-mujoco": Entry("teachers.pusht.mujoco_entry", "pusht-mujoco"),
        **{name: Entry(f"teachers.libero.entry:{name}", "libero") for name in LIBERO},
        **{f"{name}-real": Entry(f"teachers.appearance.entry:{name}", "libero") for name in LIBERO},
        **{f"robosuite_{name}": Entry(f"teachers.libero.entry:robosuite_{name}", "libero") for name in ROBOSUITE},
    }
)
"""Name of a world (its contract's name) to its teacher; "pusht-mujoco" and "-real" mark other looks
of the same worlds."""


def teacher_module(name: str) -> Any:
    """The module of a world's teacher, or what stands for it.

    Raises:
        InputError: there is no such teacher.
        MissingExtraError: its packages are not installed.
    """
    if name not in TEACHERS:
        raise InputError(f"there is no teacher {name!r}; the teachers are {', '.join(TEACHERS)}")
    entry = TEACHERS[name]
    module, _, attribute = entry.module.partition(":")
    found = require(module, entry.extra)
    return getattr(found, attribute) if attribute else found


def make_teacher(name: str, contract: Contract | None = None) -> Teacher:
    """A new teacher of a world, under ``contract`` where one is given.

    Raises:
        InputError: there is no such teacher.
        MissingExtraError: its packages are not installed.
        ContractError: the teacher cannot work under the contract.
    """
    teacher: Teacher = teacher_module(name).teacher_for(contract)
    if contract is not None:
        contract.require_same(teacher.contract, "this environment", f"teacher {name!r}")
    return teacher
