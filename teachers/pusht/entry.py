"""Push-T in the registry of teachers."""

from __future__ import annotations

import numpy as np

from teachers.pusht.starts import SEEDS
from teachers.pusht.teacher import PushTConfig, PushTTeacher
from world_model.contract import Contract


def teacher_for(contract: Contract | None) -> PushTTeacher:
    """A teacher whose frames have the contract's size."""
    return PushTTeacher(PushTConfig() if contract is None else PushTConfig(size=contract.cameras[0].height))


def training_start(generator: np.random.Generator) -> str:
    """A random start of the training split."""
    return f"seed-{generator.integers(*SEEDS['train'])}"
