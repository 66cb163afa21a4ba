"""From a checkpoint's name to a rollout that runs as the environments' do."""

from __future__ import annotations

import torch

from simforcing_env.commands.checks import at_least, results_file
from simforcing_env.evaluation.options import EvaluationOptions
from simforcing_env.registration import WEIGHTS
from world_model.errors import InputError
from world_model.extras import require
from world_model.pretrained import LearnedSimulator, register_folder
from world_model.rollout import Rollout
from world_model.runtime import Runtime

ROWS = 64  # clips in one network call


def open_rollout(options: EvaluationOptions, with_heads: bool = False) -> tuple[LearnedSimulator, Rollout]:
    """Check the options of an evaluation, set the number of threads and open its checkpoint.

    Raises:
        DataError: not found or damaged.
        InputError: an option out of range, a results file that could not be written, or no heads where they are needed.
        MissingExtraError: pictures are wanted and matplotlib is not installed.
    """
    at_least(1, threads=options.threads, history=options.history, sampler_steps=options.sampler_steps)
    at_least(0, seed=options.seed)
    results_file(options.json)
    if options.json is not None:
        require("matplotlib", "train")
    torch.set_num_threads(options.threads)
    runtime = Runtime.choose(options.device, options.precision, ROWS)
    simulator = open_simulator(options.checkpoint, runtime.device)
    if with_heads and simulator.heads is None:
        raise InputError(f"checkpoint {options.checkpoint} has no heads; train them with: simforcing train heads")
    return simulator, rollout_of(simulator, runtime, options.history, options.sampler_steps)


def rollout_of(
    simulator: LearnedSimulator, runtime: Runtime, history: int | None = None, sampler_steps: int | None = None
) -> Rollout:
    """A rollout of an opened checkpoint; None keeps its own history and sampler."""
    return Rollout(
        runtime.prepare(simulator.model),
        simulator.codec,
        simulator.contract,
        simulator.sampler if sampler_steps is None else simulator.sampler.with_steps(sampler_steps),
        simulator.history if history is None else history,
        runtime=runtime,
    )


def open_simulator(checkpoint: str, device: str = "cpu") -> LearnedSimulator:
    """Open a folder, a packaged name or a hub id.

    Raises:
        DataError: not found or damaged.
    """
    register_folder(WEIGHTS)
    return LearnedSimulator.from_pretrained(checkpoint, device=device)
