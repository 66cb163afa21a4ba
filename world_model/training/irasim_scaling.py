"""How IRASim with Frame-Ada gets better with size and training: four small sizes, each scored as it trains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import numpy as np
import torch
from torch.utils.flop_counter import FlopCounterMode

from world_model.codecs.making import make_codec
from world_model.errors import DataError
from world_model.training.irasim_study import STUDY, Scores, held_out_clips, read_scores, score, write_scores
from world_model.training.recipes_irasim import STUDY_LATENTS
from world_model.training.run import start_run
from world_model.training.trainer import Trainer

NANO_SIZES = MappingProxyType({"xs": (4, 64, 2), "s": (6, 96, 3), "m": (8, 128, 4), "l": (10, 192, 6)})
"""Depth, width and heads."""
PARTS = (8, 4, 2, 1)
"""A run is scored after an eighth of its steps, a quarter, half and all."""


@dataclass(frozen=True)
class Point:
    """A size after so many steps, with the floating point operations that its training took until then."""

    steps: int
    flop: float
    scores: Scores


def scaling_points(
    size: str, seed: int, dataset: Path, held_out: Path, out: Path, steps: int, clips: int, sets: Sequence[str]
) -> list[Point]:
    """Train a size of `NANO_SIZES` for ``steps`` and score it on its way, or read what stands in ``out``.

    Raises:
        DataError: ``out`` holds the scores of other settings, or what `start_run` refuses.
    """
    run = out / f"{size}-seed-{seed}"
    marks = sorted({max(1, steps // part) for part in PARTS})
    files = {mark: run / f"scores-{mark}-of-{steps}-steps-{clips}-clips.npz" for mark in marks}
    missing = {mark: file for mark, file in files.items() if not file.is_file()}
    if missing:
        depth, dim, heads = NANO_SIZES[size]
        shape = {"depth": depth, "dim": dim, "heads": heads}
        own = [*(f"train.model.{name}={value}" for name, value in shape.items()), f"train.steps={steps}"]
        overrides = [*own, *sets, f"train.seed={seed}"]
        trainer = start_run(STUDY["frame_ada"], overrides, dataset=dataset, held_out=held_out, out=run, device="cpu")
        try:
            _train(trainer, missing, clips, sets)
        finally:
            trainer.close()
    found = []
    for mark, file in files.items():
        scores = read_scores(file, sets)
        with np.load(file) as stored:
            found.append(Point(mark, float(stored["flop"]), scores))
    return found


def _train(trainer: Trainer, missing: dict[int, Path], clips: int, sets: Sequence[str]) -> None:
    codec = make_codec(STUDY_LATENTS, trainer.windows.frames, "the study's latents")
    each = step_flop(trainer)
    for mark, file in missing.items():
        if trainer.step > mark:
            raise DataError(
                f"{trainer.out} has trained for {trainer.step} steps but {file.name} is not there; choose another --out"
            )
        trainer.run(stop_at=mark)
        found = score(trainer, held_out_clips(trainer, clips), codec)
        write_scores(file, trainer, {**found, "flop": np.array(each * mark)}, sets)


def step_flop(trainer: Trainer) -> int:
    """Floating point operations of the matrix products and convolutions of a training step, there and back."""
    clip = trainer.windows.clip(torch.arange(trainer.config.batch), trainer.codec)
    counter = FlopCounterMode(display=False)
    with counter:
        trainer.plain.loss(clip, torch.Generator().manual_seed(0))[0].backward()  # type: ignore[operator]
    trainer.plain.zero_grad()
    return int(counter.get_total_flops())
