"""Scores of one trained arm of SimForcing's study, and the study's metrics."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from simforcing_env.evaluation.loading import open_simulator, rollout_of
from world_model.metrics.clips import Clips
from world_model.metrics.image import psnr
from world_model.metrics.lpips import Lpips
from world_model.metrics.resampling import mean_over_groups
from world_model.results import Metric
from world_model.rollout import Rollout
from world_model.runtime import Runtime
from world_model.simforcing.condition import fade
from world_model.simforcing.scoring import (
    CORRUPTIONS,
    PairClips,
    Scores,
    follows_actions,
    own_latents,
    score,
    true_latents,
)
from world_model.simforcing.study import ARMS

WEIGHTS = (0.0, 0.3, 0.6, 1.0)
MAIN = ("psnr", "ssim", "lpips", "latent_l2")
ROWS = 32  # clips generated together, for memory's sake
UNITS = {"psnr": "dB", "follow": "dB"}


def name_of(weight: float) -> str:
    """``w0``, ``w03``, ``w06``, ``w1``."""
    return "w" + f"{weight:g}".replace(".", "")


def score_arm(arm: str, checkpoint: Path, clips: Mapping[str, PairClips], lpips: Lpips | None, seed: int) -> Scores:
    """Per test clip ``(B,)``: each metric at the arm's best guidance by name, all guidances as ``psnr_wNN``, and more.

    ``clips`` are of "validation", which chooses the guidance, and of "test". ``best`` repeats the chosen one.
    """
    simulator = open_simulator(str(checkpoint))
    rollout = rollout_of(simulator, Runtime.choose("cpu", rows=ROWS))
    test = clips["test"]
    seeds = {name: _seeds(side, seed) for name, side in clips.items()}
    plain = score(rollout, test, seeds["test"], lpips=lpips)
    found: Scores = {"psnr_w0": plain["psnr"]}
    best, chosen = 0.0, plain
    if ARMS[arm].told:
        best = _best_weight(rollout, clips["validation"], seeds["validation"])
        sim = own_latents(rollout, test, test.real.future, seeds["test"])
        by_weight = {w: score(rollout, test, seeds["test"], sim=sim, guidance=w, lpips=lpips) for w in WEIGHTS[1:]}
        found |= {f"psnr_{name_of(w)}": made["psnr"] for w, made in by_weight.items()}
        chosen = by_weight.get(best, plain)
        found |= _with_true(rollout, test, seeds["test"], best or 1.0)
    found |= chosen
    found["follow"] = follows_actions(rollout, test, seeds["test"], best, told=best > 0)
    found["best"] = np.full(len(test.real), best)
    return found


def _best_weight(rollout: Rollout, clips: PairClips, seeds: NDArray[np.int64]) -> float:
    sim = own_latents(rollout, clips, clips.real.future, seeds)
    means = {w: score(rollout, clips, seeds, sim=sim, guidance=w)["psnr"].mean() for w in WEIGHTS}
    return max(means, key=lambda w: float(means[w]))


def _with_true(rollout: Rollout, clips: PairClips, seeds: NDArray[np.int64], weight: float) -> Scores:
    """PSNR with the true simulator's latents: whole, corrupted by degrees, and those of other clips."""
    true, generator = true_latents(rollout, clips), torch.Generator().manual_seed(0)
    found = {}
    for name, (kept, deviation) in CORRUPTIONS.items():
        sim = fade(true, kept, deviation, generator)
        found[f"psnr_true_corrupted_{name}"] = score(rollout, clips, seeds, sim=sim, guidance=weight)["psnr"]
    wrong = score(rollout, clips, seeds, sim=true.roll(len(true) // 2, 0), guidance=weight)
    return {**found, "psnr_true_wrong": wrong["psnr"]}


def metrics_of(
    scores: Mapping[str, Sequence[Scores]], groups: NDArray[np.int64], generator: np.random.Generator
) -> dict[str, Metric]:
    """Means over clips and seeds with intervals over pairs, and D's gains over A and B.

    ``gain_true`` is that of D told of the true simulator's frames, as where it runs live.
    """
    found: dict[str, Metric] = {}
    for arm, runs in scores.items():
        for key in runs[0]:
            value = _over_seeds(runs, key)  # (B,)
            name, tail = (key, "") if key in MAIN else key.split("_", 1) if "_" in key else (key, "")
            found["_".join(part for part in (name, arm, tail) if part)] = mean_over_groups(
                value, groups, generator, UNITS.get(name, "")
            )
    if "D" in scores:
        means = [float(one["psnr"].mean()) for one in scores["D"]]
        found["seed_noise_db"] = Metric(max(means) - min(means), n=len(means), unit="dB")
        for other in ("A", "B"):
            if other in scores:
                for told, key in (("", "psnr"), ("_true", "psnr_true_corrupted_0")):
                    gain = _over_seeds(scores["D"], key) - _over_seeds(scores[other], "psnr")
                    found[f"gain{told}_over_{other}_db"] = mean_over_groups(gain, groups, generator, "dB")
    return found


def copying(clips: Clips, generator: np.random.Generator) -> Metric:
    """PSNR of showing the last known frame throughout."""
    value = psnr(np.broadcast_to(clips.last, clips.truth.shape), clips.truth).mean(axis=1)
    return mean_over_groups(value, clips.group, generator, "dB")


def _over_seeds(runs: Sequence[Scores], key: str) -> NDArray[np.float64]:
    mean: NDArray[np.float64] = np.mean([one[key] for one in runs], axis=0)
    return mean


def _seeds(clips: PairClips, seed: int) -> NDArray[np.int64]:
    return np.random.default_rng([seed, zlib.crc32(b"clips")]).integers(0, 2**31, len(clips.real))
