"""Post-train a world model on what a policy does: record P of its rollouts in the true simulator, train on from there.

Rollouts, training and the checkpoint stand in one folder; a killed run goes on with the same command. Heads and starts
are taken along. ``--set train.batch=0 --set train.sequences=96`` trains the foreseer alone, which is all that plans
without pictures use, in a fraction of the time.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from simforcing_env.commands.checks import above, at_least


@dataclass(frozen=True)
class Config:
    """Options of ``simforcing posttrain``."""

    policy: str
    """Specification of the policy, such as ``diffusion:FOLDER`` or ``pusht:tries=8``."""
    out: Path
    """Folder for ``rollouts``, ``held-out``, ``run`` and ``checkpoint``."""
    checkpoint: str = "pusht-nano"
    """Folder, packaged name or hub id to begin with."""
    rollouts: int = 100
    """P, rollouts from training starts."""
    recorded: Path | None = None
    """Folder in which the data sets ``rollouts`` and ``held-out`` were recorded already; the first P are used."""
    dataset: Annotated[tuple[Path, ...], tyro.conf.UseAppendAction] = ()
    """Further data set, repeatable, of which the first P episodes are trained on too, so that less is forgotten."""
    transitions: int = 200
    """Actions of each rollout."""
    execute: int = 8
    """Actions that the policy carries out before it is asked again."""
    noise: float = 4.0
    """Largest drift of a rollout's actions, px: plans try what the policy itself would not do."""
    cpu_minutes: float = 10.0
    """Processor time of training."""
    learning_rate: float = 2e-4
    """Highest one; lower than a new model's, which keeps what is known."""
    set: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = ()
    """Override of a field of the checkpoint's recipe, repeatable, such as ``--set train.sequences=256``."""
    seed: int = 0
    """Of starts, the policy's noise and the drift."""
    workers: int = 1
    """Recording processes."""
    threads: int = 1
    """CPU threads of training."""


def run(config: Config) -> None:
    """Record, train, leave a checkpoint in ``out/checkpoint``."""
    import torch

    from simforcing_env.commands.policy_record import record
    from simforcing_env.evaluation.loading import open_simulator
    from world_model.errors import InputError
    from world_model.training.recipes import RECIPES
    from world_model.training.run import start_run

    at_least(1, rollouts=config.rollouts, transitions=config.transitions, execute=config.execute)
    at_least(1, workers=config.workers, threads=config.threads)
    at_least(0, seed=config.seed, noise=config.noise)
    above(0, cpu_minutes=config.cpu_minutes, learning_rate=config.learning_rate)
    torch.set_num_threads(config.threads)
    simulator = open_simulator(config.checkpoint)
    recipe = str(simulator.recipe.get("name"))
    if recipe not in RECIPES:
        raise InputError(
            f"checkpoint {simulator.hash} was made by recipe {recipe!r}, which is not shipped; choose another one"
        )
    options = {
        "policy": config.policy,
        "transitions": config.transitions,
        "execute": config.execute,
        "noise": config.noise,
    }
    data = config.recorded or config.out
    if config.recorded is None:
        record(options, "train", data / "rollouts", config.rollouts, config.seed, config.workers)
        held_out = max(4, config.rollouts // 50)
        record(options, "validation", data / "held-out", held_out, config.seed, config.workers)
    own = (f"train.optim.learning_rate={config.learning_rate}", "train.overfit_steps=0", "train.validation_clips=16")
    trainer = start_run(
        recipe,
        (*own, f"episodes={config.rollouts}", *config.set),
        dataset=(data / "rollouts", *config.dataset),
        held_out=data / "held-out",
        out=config.out / "run",
        initial=Path(config.checkpoint),
    )
    try:
        metrics = trainer.run(cpu_minutes=config.cpu_minutes)
    finally:
        trainer.close()
    trained = open_simulator(str(config.out / "run" / "checkpoint"))
    trained.heads, trained.starts = simulator.heads, simulator.starts
    trained.recipe |= {"initial": simulator.hash, "rollouts": config.rollouts, "policy": config.policy}
    trained.save_pretrained(config.out / "checkpoint")
    print("\n".join(f"{name:16} {value:.4f}" for name, value in metrics.items()))
    print(f"checkpoint: {config.out / 'checkpoint'}")
