"""IRASim's short protocol: windows of true episodes generated from their first frame, and what is beyond it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simforcing_env.evaluation.following import following_metrics, other_actions
from simforcing_env.evaluation.tracks import Array, Track, frame_measures, groups_of, latent_l2, track_metrics
from world_model.metrics.clips import Clips
from world_model.metrics.image import psnr
from world_model.metrics.lpips import Lpips
from world_model.metrics.resampling import mean_over_groups
from world_model.metrics.rollouts import generate
from world_model.results import Metric
from world_model.rollout import Rollout


@dataclass(frozen=True)
class ShortReport:
    """Windows, how they were generated, and what else they were told to do."""

    clips: Clips
    tracks: tuple[Track, ...]
    frames: NDArray[np.uint8]  # (B, n, H, W, 3) generated under the true actions
    shuffled: NDArray[np.uint8]  # (B, n, H, W, 3) generated under another episode's actions
    shuffled_actions: NDArray[np.float32]  # (B, n, a, A) those actions
    psnr: dict[str, Array]  # (B, n) under the true and under other actions


def evaluate_short(
    rollout: Rollout,
    clips: Clips,
    lpips: Lpips | None,
    generator: np.random.Generator,
    stage: Callable[[str], None] = lambda name: None,
) -> ShortReport:
    """Generate each window from its known frames, and again under other actions; ``stage`` is told each step.

    Frame t of a window is held against true frame t; known frames are not counted.

    Raises:
        InputError: windows from too few episodes.
    """
    seeds = generator.integers(0, 2**31, len(clips))
    others = other_actions(clips, rollout.contract, generator)
    stage("generating")
    made, truth = generate(rollout, clips, clips.future, seeds), clips.truth
    copied = psnr(np.broadcast_to(clips.last, truth.shape), truth)
    stage("comparing pictures")
    tracks = []
    for i in range(len(clips)):
        curves = {"latent_l2": latent_l2(rollout.codec, made.sampled[i], truth[i])}
        curves |= frame_measures(made.frames[i], truth[i], lpips, grey=True)
        curves |= {"psnr_copy": copied[i], "latent_l2_copy": _copied_l2(rollout, clips, i)}
        place, known = int(clips.first[i]) + clips.history - 1, clips.last[i, 0]
        group = int(clips.group[i])
        tracks.append(Track(clips.start[i], clips.behaviour[i], group, place, known, truth[i], made.frames[i], curves))
    scores = {"psnr": np.stack([track.curves["psnr"] for track in tracks])}
    shuffled = made.frames
    for name, actions in others.items():
        stage(f"generating with {name} actions")
        frames = generate(rollout, clips, actions, seeds).frames
        scores[f"psnr_{name}"] = psnr(frames, truth)
        if name == "shuffled":
            shuffled = frames
    return ShortReport(clips, tuple(tracks), made.frames, shuffled, others["shuffled"], scores)


def _copied_l2(rollout: Rollout, clips: Clips, i: int) -> Array:
    import torch

    known = rollout.codec.encode(torch.from_numpy(clips.last[i]).to(rollout.runtime.device))
    return latent_l2(rollout.codec, known.expand(clips.horizon, *known.shape[1:]), clips.truth[i])


def short_metrics(report: ShortReport, horizons: Sequence[int], generator: np.random.Generator) -> dict[str, Metric]:
    """The published means over all windows, the same at single frames, and action following."""
    groups = groups_of(report.tracks)

    def mean(values: Array, unit: str) -> Metric:
        return mean_over_groups(values, groups, generator, unit)

    found = track_metrics(report.tracks, horizons, generator)
    found |= {name: metric for name, metric in following_metrics(report.psnr, mean).items() if metric is not None}
    found["windows"] = Metric(float(len(groups)), n=len(np.unique(groups)))
    return found
