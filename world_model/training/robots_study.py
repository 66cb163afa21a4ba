"""A nano IRASim on recordings of a real robot: does it learn the episodes it sees, and what of it holds for others?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from world_model.data.lerobot.reader import read_dataset
from world_model.training.irasim_study import Scores, read_scores, score, write_scores
from world_model.training.run import start_run
from world_model.training.trainer import Trainer
from world_model.training.validation import spread_clips
from world_model.training.windows import Windows

RECIPE = "robots-nano"
SIDES = ("seen", "held_out")


def robot_scores(data: Path, out: Path, seed: int, cpu_minutes: float, clips: int, sets: Sequence[str]) -> list[Scores]:
    """Train on ``data/train`` and score on it and on ``data/val`` and ``data/test`` together, in the order of `SIDES`.

    What an earlier call with these numbers left in ``out`` is read.

    Raises:
        DataError: ``out`` holds the scores of other settings, or what `start_run` refuses.
    """
    files = [out / f"{side}-{cpu_minutes:g}-minutes-{clips}-clips.npz" for side in SIDES]
    if not all(file.is_file() for file in files):
        width = read_dataset(data / "train").contract.action_dim
        overrides = [f"train.model.action_dim={width}", *sets, f"train.seed={seed}"]
        trainer = start_run(RECIPE, overrides, dataset=data / "train", held_out=data / "val", out=out, device="cpu")
        try:
            trainer.run(cpu_minutes=cpu_minutes)
            for file, windows in zip(files, (trainer.windows, _held_out(trainer, data)), strict=True):
                found = score(trainer, spread_clips(windows, trainer.contract, clips), trainer.codec)
                write_scores(file, trainer, found, sets)
        finally:
            trainer.close()
    return [read_scores(file, sets) for file in files]


def _held_out(trainer: Trainer, data: Path) -> Windows:
    sets = [read_dataset(data / split, trainer.contract) for split in ("val", "test")]
    episodes = [held[index] for held in sets for index in range(len(held))]
    return Windows(episodes, trainer.contract, trainer.windows.config)
