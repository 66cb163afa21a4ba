"""Learned simulators for robot manipulation as Gymnasium environments; importing this registers their ids."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from simforcing_env.registration import WORLDS, register_worlds

if TYPE_CHECKING:
    from simforcing_env.env import WorldModelEnv
    from simforcing_env.snapshot import Snapshot
    from simforcing_env.teacher_env import TeacherEnv, TeacherVectorEnv
    from simforcing_env.vector_env import WorldModelVectorEnv

__all__ = ["WORLDS", "Snapshot", "TeacherEnv", "TeacherVectorEnv", "WorldModelEnv", "WorldModelVectorEnv"]

_LAZY = {
    "Snapshot": "snapshot",
    "TeacherEnv": "teacher_env",
    "TeacherVectorEnv": "teacher_env",
    "WorldModelEnv": "env",
    "WorldModelVectorEnv": "vector_env",
}

register_worlds()


def __getattr__(name: str) -> Any:
    """Import a class when it is first asked for: torch and the simulators are slow to load."""
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_LAZY[name]}"), name)
