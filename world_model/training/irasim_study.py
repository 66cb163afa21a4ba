"""IRASim's comparison in small: four models of one size, trained for the same processor time on the same data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from world_model.atomic import replacing_file
from world_model.codecs import CodecModule
from world_model.codecs.making import make_codec
from world_model.metrics.clips import group_means
from world_model.metrics.image import psnr
from world_model.rollout import Rollout
from world_model.training.recipes_irasim import STUDY_LATENTS
from world_model.training.run import start_run
from world_model.training.trainer import Trainer
from world_model.training.validation import pick_clips

STUDY = {
    "frame_ada": "pusht-irasim-frame-ada",
    "video_ada": "pusht-irasim-video-ada",
    "lvdm": "pusht-lvdm",
    "vdm": "pusht-vdm",
}
"""Model to recipe, in the order in which the paper has them."""
MEASURES = ("psnr", "latent_l2", "psnr_copy", "latent_l2_copy")


@dataclass(frozen=True)
class Scores:
    """One trained model on held-out clips; every measure is ``(episodes,)``, means over frames and clips."""

    values: dict[str, NDArray[np.float64]]
    parameters: int
    steps: int
    contract: str


def trained_scores(
    model: str, seed: int, dataset: Path, held_out: Path, out: Path, cpu_minutes: float, clips: int, sets: Sequence[str]
) -> Scores:
    """Train a model of `STUDY` and measure it, or read what an earlier call with these numbers left in ``out``."""
    run = out / f"{model}-seed-{seed}"
    file = run / f"scores-{cpu_minutes:g}-minutes-{clips}-clips.npz"
    if not file.is_file():
        overrides = [*sets, f"train.seed={seed}"]
        trainer = start_run(STUDY[model], overrides, dataset=dataset, held_out=held_out, out=run, device="cpu")
        try:
            trainer.run(cpu_minutes=cpu_minutes)
            _write(file, trainer, clips)
        finally:
            trainer.close()
    with np.load(file) as stored:
        values = {name: stored[name] for name in MEASURES}
        return Scores(values, int(stored["parameters"]), int(stored["steps"]), str(stored["contract"]))


def _write(file: Path, trainer: Trainer, clips: int) -> None:
    codec = make_codec(STUDY_LATENTS, trainer.windows.frames, "the study's latents")
    values = measure(trainer, codec, clips)
    parameters = sum(p.numel() for p in trainer.plain.parameters())
    told = {"parameters": parameters, "steps": trainer.step, "contract": trainer.contract.hash}
    with replacing_file(file) as temporary, temporary.open("wb") as handle:
        np.savez(handle, **values, **told)  # type: ignore[arg-type]  # plain numbers and texts become arrays


@torch.no_grad()
def measure(trainer: Trainer, codec: CodecModule, count: int) -> dict[str, NDArray[np.float64]]:
    """Colour PSNR and latent L2 of generated 8-bit frames and of copying the known one; latents are ``codec``'s.

    All models are held to one codec, so that one whose own latents are pixels is measured as the others are.
    """
    clips = pick_clips(trainer.held_out, trainer.contract, count, seed=2)
    h, model = clips.history, trainer.average.module.eval()
    rollout = Rollout(model, trainer.codec, trainer.contract, trainer.sampler, h)  # type: ignore[arg-type]
    values: dict[str, list[NDArray[np.float64]]] = {name: [] for name in MEASURES}
    for first in range(0, len(clips.frames), 8):  # a few at a time: pixel models need much memory
        rows = slice(first, first + 8)
        frames, seeds = clips.frames[rows], np.arange(len(clips.frames))[rows]
        begun = rollout.start(frames[:, :h], clips.proprio[rows, :h], seeds, clips.actions[rows, : h - 1])
        made = rollout.advance(begun, clips.actions[rows, h - 1 :])[1].frames
        truth, known = frames[:, h:], np.broadcast_to(frames[:, h - 1 : h], frames[:, h:].shape)
        for name, guess in (("", made), ("_copy", known)):
            wrong = codec.encode(torch.from_numpy(np.ascontiguousarray(guess))) - codec.encode(torch.from_numpy(truth))
            values[f"psnr{name}"].append(psnr(guess, truth).mean(axis=1))
            values[f"latent_l2{name}"].append(wrong.square().mean(dim=(1, 2, 3, 4)).double().numpy())
    return {name: group_means(np.concatenate(found), clips.episode) for name, found in values.items()}
