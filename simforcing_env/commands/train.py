"""Train a world model by a shipped recipe; a killed run goes on when the same command is given again."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from simforcing_env.commands.checks import above, at_least, some


@dataclass(frozen=True)
class Config:
    """Options of ``simforcing train``."""

    dataset: tuple[Path, ...]
    """LeRobot v3.0 folder with the training split, as ``simforcing collect`` writes it; or several of one contract."""
    held_out: Path
    """Folder with the validation split."""
    out: Path
    """Folder of the run: log, rollouts, resumable state, checkpoint."""
    config: str = "pusht-nano"
    """Recipe to train."""
    minutes: float | None = None
    """Wall-clock budget, interrupted time not counted; the learning rate schedule ends with it."""
    cpu_minutes: float | None = None
    """Budget in processor time instead, fair beside other programs."""
    stop_at: int | None = None
    """Stop at this step without shortening the schedule."""
    set: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = ()
    """Override of a recipe's field, repeatable: ``--set train.batch=16 --set train.model.width=96``."""
    codec: Path | None = None
    """Folder of a fitted codec; otherwise the recipe's codec is fitted on the training frames."""
    initial: Path | None = None
    """Checkpoint whose weights and codec a new run begins with (a second stage, or fine-tuning on other data)."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """Where to train."""
    threads: int = 1
    """CPU threads; more than the free cores makes training many times slower."""


def run(config: Config) -> None:
    """Train, print the last validation, leave a checkpoint in ``out/checkpoint``."""
    import torch

    from simforcing_env.registration import WEIGHTS
    from world_model.errors import InputError
    from world_model.pretrained import register_folder
    from world_model.training.run import start_run

    some(dataset=config.dataset)
    above(0, minutes=config.minutes, cpu_minutes=config.cpu_minutes)
    at_least(0, stop_at=config.stop_at)
    at_least(1, threads=config.threads)
    for one, two in (("minutes", "cpu_minutes"), ("codec", "initial")):
        if None not in (getattr(config, one), getattr(config, two)):
            raise InputError(f"--{one} and --{two.replace('_', '-')} cannot go together; leave out one of them")
    torch.set_num_threads(config.threads)
    register_folder(WEIGHTS)
    trainer = start_run(
        config.config,
        config.set,
        dataset=config.dataset,
        held_out=config.held_out,
        out=config.out,
        codec=config.codec,
        initial=config.initial,
        device=config.device,
    )
    try:
        metrics = trainer.run(config.minutes, config.cpu_minutes, config.stop_at)
    finally:
        trainer.close()
    print("\n".join(f"{name:16} {value:.4f}" for name, value in metrics.items()))
    print(f"checkpoint: {config.out / 'checkpoint'}")
