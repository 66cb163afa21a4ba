"""IRASim's comparison in small: four models of one size, trained for the same processor time on the same data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from world_model.codecs.making import make_codec
from world_model.interface import Codec
from world_model.metrics.clips import group_means
from world_model.metrics.image import psnr
from world_model.rollout import Rollout
from world_model.training.kept_scores import read_kept, write_kept
from world_model.training.recipes_irasim import STUDY_LATENTS
from world_model.training.run import start_run
from world_model.training.trainer import Trainer
from world_model.training.validation import ValidationClips, pick_clips

STUDY = {
    "frame_ada": "pusht-irasim-frame-ada",
    "video_ada": "pusht-irasim-video-ada",
    "lvdm": "pusht-lvdm",
    "vdm": "pusht-vdm",
}
"""Model to recipe, in the order in which the paper has them."""
MEASURES = ("psnr", "latent_l2", "psnr_copy", "latent_l2_copy", "shuffle_gap")
SHOWN = 4  # clips whose frames are kept for a picture
TOGETHER = 8  # clips that are generated at once: pixel models need much memory


@dataclass(frozen=True)
class Scores:
    """One trained model on held-out clips; every measure is ``(episodes,)``, means over frames and clips."""

    values: dict[str, NDArray[np.float64]]
    parameters: int
    steps: int
    contract: str
    true: NDArray[np.uint8]
    """``(SHOWN, h + n, H, W, 3)`` of some clips."""
    made: NDArray[np.uint8]
    """``(SHOWN, n, H, W, 3)``"""


def trained_scores(
    model: str, seed: int, dataset: Path, held_out: Path, out: Path, cpu_minutes: float, clips: int, sets: Sequence[str]
) -> Scores:
    """Train a model of `STUDY` and measure it, or read what an earlier call with these numbers left in ``out``.

    Raises:
        DataError: ``out`` holds the scores of other settings, or what `start_run` refuses.
    """
    run = out / f"{model}-seed-{seed}"
    file = run / f"scores-{cpu_minutes:g}-minutes-{clips}-clips.npz"
    if not file.is_file():
        overrides = [*sets, f"train.seed={seed}"]
        trainer = start_run(STUDY[model], overrides, dataset=dataset, held_out=held_out, out=run, device="cpu")
        try:
            trainer.run(cpu_minutes=cpu_minutes)
            codec = make_codec(STUDY_LATENTS, trainer.windows.frames, "the study's latents")
            write_scores(file, trainer, score(trainer, held_out_clips(trainer, clips), codec), sets)
        finally:
            trainer.close()
    return read_scores(file, sets)


def score(trainer: Trainer, clips: ValidationClips, codec: Codec) -> dict[str, NDArray[Any]]:
    """`measure`, with some of the true and generated frames."""
    values, made = measure(trainer, clips, codec)
    shown = np.linspace(0, len(made) - 1, min(SHOWN, len(made))).round().astype(int)
    return {**values, "true": clips.frames[shown], "made": made[shown]}


def held_out_clips(trainer: Trainer, count: int) -> ValidationClips:
    """The clips that all models of a study are scored on."""
    return pick_clips(trainer.held_out, trainer.contract, count, seed=2)


def write_scores(file: Path, trainer: Trainer, found: dict[str, NDArray[Any]], sets: Sequence[str]) -> None:
    """Write what `read_scores` reads."""
    parameters = sum(p.numel() for p in trainer.plain.parameters())
    numbers = {"parameters": parameters, "steps": trainer.step, "contract": trainer.contract.hash}
    told = {name: np.array(value) for name, value in numbers.items()}
    write_kept(file, {**found, **told}, {"sets": sorted(sets)})


def read_scores(file: Path, sets: Sequence[str]) -> Scores:
    """Scores of a run with the overrides ``sets``.

    Raises:
        DataError: they are of other overrides.
    """
    stored = read_kept(file, {"sets": sorted(sets)})
    values = {name: stored[name] for name in MEASURES}
    numbers = int(stored["parameters"]), int(stored["steps"]), str(stored["contract"])
    return Scores(values, *numbers, stored["true"], stored["made"])


@torch.no_grad()
def measure(
    trainer: Trainer, clips: ValidationClips, codec: Codec
) -> tuple[dict[str, NDArray[np.float64]], NDArray[np.uint8]]:
    """Colour PSNR and latent L2 of generated 8-bit frames and of copying the known one, and the frames.

    Latents are ``codec``'s, so that a model whose own are pixels is measured as the others are. ``shuffle_gap`` is the
    PSNR that is lost with the actions of other clips.
    """
    h, model = clips.history, trainer.average.module.eval()
    rollout = Rollout(model, trainer.codec, trainer.contract, trainer.sampler, h)  # type: ignore[arg-type]
    others = np.roll(clips.actions, max(1, len(clips.actions) // 2), axis=0)
    values: dict[str, list[NDArray[np.float64]]] = {name: [] for name in MEASURES}
    generated = []
    for first in range(0, len(clips.frames), TOGETHER):
        rows = slice(first, first + TOGETHER)
        frames, seeds = clips.frames[rows], np.arange(len(clips.frames))[rows]
        begun = rollout.start(frames[:, :h], clips.proprio[rows, :h], seeds, clips.actions[rows, : h - 1])
        made, misled = (rollout.advance(begun, a[rows, h - 1 :])[1].frames for a in (clips.actions, others))
        truth, known = frames[:, h:], np.broadcast_to(frames[:, h - 1 : h], frames[:, h:].shape)
        for name, guess in (("", made), ("_copy", known)):
            wrong = codec.encode(torch.from_numpy(np.ascontiguousarray(guess))) - codec.encode(torch.from_numpy(truth))
            values[f"psnr{name}"].append(psnr(guess, truth).mean(axis=1))
            values[f"latent_l2{name}"].append(wrong.square().mean(dim=(1, 2, 3, 4)).double().numpy())
        values["shuffle_gap"].append((psnr(made, truth) - psnr(misled, truth)).mean(axis=1))
        generated.append(made)
    means = {name: group_means(np.concatenate(found), clips.episode) for name, found in values.items()}
    return means, np.concatenate(generated)
