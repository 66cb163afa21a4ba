"""Push-T's MuJoCo twin in the registry of teachers; its starts are Push-T's."""

from __future__ import annotations

from teachers.pusht.entry import training_start
from teachers.pusht.mujoco_teacher import MujocoPushTConfig, MujocoPushTTeacher
from world_model.contract import Contract

__all__ = ["teacher_for", "training_start"]


def teacher_for(contract: Contract | None) -> MujocoPushTTeacher:
    """A teacher whose frames have the contract's size."""
    return MujocoPushTTeacher(
        MujocoPushTConfig() if contract is None else MujocoPushTConfig(size=contract.cameras[0].height)
    )
