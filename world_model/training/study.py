"""Model forms side by side: each trained for the same processor time on the same data, then held against truth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from world_model.metrics.clips import group_means
from world_model.rollout import Rollout
from world_model.training.run import start_run
from world_model.training.trainer import Trainer
from world_model.training.validation import clip_psnr, pick_clips

FORMS = {
    "pusht-form-a": "a: chunk transformer (published form)",
    "pusht-form-b": "b: frame-causal transformer",
    "pusht-form-c": "c: b with convolutional stem and head",
    "pusht-form-d": "d: convolutional next-frame denoiser",
    "pusht-form-e": "e: key points foreseen, frames drawn from an anchor",
    "pusht-form-e-v": "e with v instead of x0 prediction",
    "pusht-form-e-regression": "e as direct regression",
}
STEPS = (1, 2, 4, 8)


@dataclass(frozen=True)
class Score:
    """One form with one number of sampler steps; arrays are means over the clips of each episode."""

    form: str
    steps: int
    psnr: dict[int, np.ndarray]  # frame -> (episodes,) dB
    copy: dict[int, np.ndarray]
    shuffle_gap: np.ndarray  # (episodes,) dB lost with another clip's actions, mean over frames


def study(
    forms: Sequence[str], dataset: Path, held_out: Path, out: Path, cpu_minutes: float, clips: int, sets: Sequence[str]
) -> tuple[list[Score], dict[str, int], Trainer]:
    """Train what is not trained yet in ``out`` and score it; scores, parameter counts and the last trainer."""
    scores, sizes = [], {}
    for form in forms:
        trainer = start_run(form, sets, dataset=dataset, held_out=held_out, out=out / form)
        trainer.run(cpu_minutes=cpu_minutes)
        sizes[form] = sum(p.numel() for p in trainer.plain.parameters())
        for steps in STEPS:
            scores.append(score(trainer, form, steps, clips))
        trainer.close()
    return scores, sizes, trainer


def score(trainer: Trainer, form: str, steps: int, count: int) -> Score:
    """Rollouts of ``count`` held-out clips with ``steps`` Euler steps."""
    clips = pick_clips(trainer.held_out, trainer.contract, count, seed=2)
    model = trainer.average.module.eval()
    sampler = trainer.sampler.with_steps(steps)  # type: ignore[attr-defined]
    rollout = Rollout(model, trainer.codec, trainer.contract, sampler, clips.history)  # type: ignore[arg-type]
    own, copy, shuffled = clip_psnr(rollout, clips)
    frames = sorted({1, 8, own.shape[1]})
    return Score(
        form,
        steps,
        {k: group_means(own[:, k - 1], clips.episode) for k in frames},
        {k: group_means(copy[:, k - 1], clips.episode) for k in frames},
        group_means((own - shuffled).mean(axis=1), clips.episode),
    )
