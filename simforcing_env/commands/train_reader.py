"""Train the Push-T pose reader, the instrument that reads positions from generated frames.

Scenes are drawn by the true renderer; the error printed at the end is measured on other scenes. About ten
minutes on one core.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from simforcing_env.commands.checks import above, at_least
from simforcing_env.evaluation.reader_config import ReaderTraining

if TYPE_CHECKING:
    from simforcing_env.evaluation.reading_error import ReadingError


@dataclass(frozen=True)
class Config:
    """Options of ``simforcing train reader``."""

    out: Path
    """Folder to write the reader into; the packaged one is simforcing_env/weights/pusht-reader."""
    seed: int = 0
    """Of the drawn scenes and the net's first weights."""
    check_scenes: int = 2000
    """Scenes of another seed on which the error is measured, none of them smeared."""
    threads: int = 1
    """CPU threads; more than the free cores makes training many times slower."""
    training: ReaderTraining = field(default_factory=ReaderTraining)


def run(config: Config) -> None:
    """Draw, train, measure, save."""
    import dataclasses

    import numpy as np
    import torch

    from simforcing_env.evaluation.pose_reader import save_reader
    from simforcing_env.evaluation.pose_training import train_reader
    from simforcing_env.evaluation.progress import counting, spending
    from simforcing_env.evaluation.reading_error import reading_error
    from simforcing_env.evaluation.scenes import draw_scenes
    from world_model.checkpoint import check_place

    plan = config.training
    at_least(1, threads=config.threads, check_scenes=config.check_scenes, training__scenes=plan.scenes)
    at_least(1, training__batch=plan.batch, training__steps=plan.steps)
    at_least(0, seed=config.seed)
    above(0, training__minutes=plan.minutes, training__learning_rate=plan.learning_rate)
    check_place(config.out)
    torch.set_num_threads(config.threads)
    with counting("drawing scenes", plan.scenes) as step:
        scenes = draw_scenes(plan.scenes, np.random.default_rng([config.seed, 0]), plan.mix, progress=step)
    with spending("training the reader") as report:
        generator = torch.Generator().manual_seed(config.seed)
        reader = train_reader(scenes, plan, generator, progress=report)
    clean = dataclasses.replace(plan.mix, smeared=0.0, other_goal=0.0)
    check = draw_scenes(config.check_scenes, np.random.default_rng([config.seed, 1]), clean)
    error = reading_error(reader.read(check.frames), check.truth)
    save_reader(reader, config.out, _card(config, error))
    print(error.table())
    print(f"reader: {config.out}")


def _card(config: Config, error: ReadingError) -> str:
    plan = config.training
    return (
        "---\nlibrary_name: simforcing-env\nlicense: apache-2.0\ntags: [robotics, evaluation]\n---\n"
        "# Push-T pose reader\n\n"
        "Reads the pusher's position and the block's pose from 64 x 64 Push-T frames. It is the instrument of\n"
        "`simforcing evaluate video`, not a part of any world model, and never sees one.\n\n"
        f"Made by `simforcing train reader --seed {config.seed}`: {plan.scenes:,} scenes drawn by the true renderer\n"
        f"(uniform and about the goal, {plan.mix.smeared:.0%} smeared over three poses; blur and noise are added\n"
        f"while training), {plan.minutes:g} minutes of one core, no recorded data.\n\n"
        f"Error on {error.count:,} other clean scenes, pusher on the block included:\n\n{error.table()}\n\n"
        "The goal is expected at or near its stock look; frames of another size or rendering are not covered.\n"
    )
