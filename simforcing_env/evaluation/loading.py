"""From a checkpoint's name to a rollout, and the options of it that every evaluation shares."""

from __future__ import annotations

from typing import Any

from simforcing_env.registration import WEIGHTS
from world_model.errors import InputError
from world_model.pretrained import LearnedSimulator, register_folder
from world_model.rollout import Rollout
from world_model.runtime import Precision, Runtime


def open_rollout(
    checkpoint: str, history: int | None, sampler_steps: int | None, precision: Precision, with_heads: bool = False
) -> tuple[LearnedSimulator, Rollout]:
    """Open a checkpoint; None keeps its own history and sampler.

    Raises:
        DataError: not found or damaged.
        InputError: a history or a number of steps below 1, or no heads where they are needed.
    """
    simulator = open_simulator(checkpoint)
    if with_heads and simulator.heads is None:
        raise InputError(f"checkpoint {checkpoint} has no heads; train them with: simforcing train heads")
    sampler: Any = simulator.sampler
    if sampler_steps is not None:
        if sampler_steps < 1:
            raise InputError(f"the sampler cannot take {sampler_steps} steps; give at least 1")
        sampler = sampler.with_steps(sampler_steps)
    runtime = Runtime.choose("cpu", precision, rows=64)
    rollout = Rollout(
        runtime.prepare(simulator.model),
        simulator.codec,
        simulator.contract,
        sampler,
        simulator.history if history is None else history,
        runtime=runtime,
    )
    return simulator, rollout


def open_simulator(checkpoint: str) -> LearnedSimulator:
    """Open a folder, a packaged name or a hub id.

    Raises:
        DataError: not found or damaged.
    """
    register_folder(WEIGHTS)
    return LearnedSimulator.from_pretrained(checkpoint)
