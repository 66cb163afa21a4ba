"""Generated frames of a robot arm held against held-out true ones: pixels, the hand's place and action following."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simforcing_env.evaluation.baselines import copy_last
from simforcing_env.evaluation.following import following_metrics, other_actions
from simforcing_env.evaluation.video import Array, picture_distances
from world_model.canvas import split
from world_model.data.episode import Episode
from world_model.metrics.clips import Clips, group_means
from world_model.metrics.image import psnr
from world_model.metrics.lpips import Lpips
from world_model.metrics.rollouts import generate
from world_model.results import Metric
from world_model.rollout import Rollout

MOVING_CM = 1.0  # how far any object has gone by a frame from which a clip counts as moving


@dataclass(frozen=True)
class ArmReport:
    """Everything measured, ``(B, n)`` by clip and generated frame unless said otherwise."""

    clips: Clips
    frames: NDArray[np.uint8]  # (B, n, H, W, 3) generated canvases
    curves: dict[str, Array]
    at_horizon: dict[str, dict[int, Array]]  # (B,) each; too slow for every frame
    moving: NDArray[np.bool_]  # (B, n) some object has gone `MOVING_CM` since the last known frame
    succeeds: NDArray[np.bool_]  # (B,) the clip's episode ends well


def evaluate_arm_video(
    rollout: Rollout,
    clips: Clips,
    episodes: Sequence[Episode],
    state_names: Sequence[str],
    lpips: Lpips | None,
    horizons: Sequence[int],
    generator: np.random.Generator,
    stage: Callable[[str], None] = lambda name: None,
) -> ArmReport:
    """Generate each clip open-loop with its own, other and shifted actions, and measure; ``stage`` is told each step.

    ``episodes`` are those that ``clips`` were cut from; their objects' places are the columns of ``state_names`` that
    end in _x, _y, _z.

    Raises:
        InputError: clips from too few episodes.
    """
    truth, contract = clips.truth, rollout.contract
    seeds = generator.integers(0, 2**31, len(clips))
    others = other_actions(clips, contract, generator)
    stage("generating")
    made = generate(rollout, clips, clips.future, seeds)
    curves = {"psnr": psnr(made.frames, truth), "psnr_copy": psnr(copy_last(clips), truth)}
    pairs = zip(split(contract, made.frames).items(), split(contract, truth).values(), strict=True)
    curves |= {f"psnr_{name}": psnr(picture, true) for (name, picture), true in pairs}
    curves["uncertainty"] = made.uncertainty.astype(np.float64)
    place = clips.proprio[:, clips.history :, :3]
    curves["gripper_cm"] = 100 * np.linalg.norm(made.proprio[..., :3] - place, axis=-1)
    still = clips.proprio[:, clips.history - 1 : clips.history, :3]
    curves["gripper_cm_copy"] = 100 * np.linalg.norm(np.broadcast_to(still, place.shape) - place, axis=-1)
    for name, actions in others.items():
        stage(f"generating with {name} actions")
        curves[f"psnr_{name}"] = psnr(generate(rollout, clips, actions, seeds).frames, truth)
    stage("comparing pictures")
    at_horizon = picture_distances({"": made.frames, "_copy": copy_last(clips)}, truth, lpips, horizons)
    won = np.array([bool(np.max(episode.labels["success"]) > 0.5) for episode in episodes])
    return ArmReport(clips, made.frames, curves, at_horizon, moved(clips, state_names), won[clips.episode])


def moved(clips: Clips, state_names: Sequence[str]) -> NDArray[np.bool_]:
    """Whether some object has gone `MOVING_CM` by each generated frame ``(B, n)``; all False without a state."""
    columns = [i for i, name in enumerate(state_names) if name.endswith(("_x", "_y", "_z"))]
    if clips.state is None or not columns:
        return np.zeros((len(clips), clips.horizon), bool)
    places = clips.state[:, clips.history - 1 :, columns]
    places = places.reshape(*places.shape[:2], -1, 3)
    away: NDArray[np.bool_] = (100 * np.linalg.norm(places[:, 1:] - places[:, :1], axis=-1)).max(-1) > MOVING_CM
    return away


def arm_metrics(report: ArmReport, horizons: Sequence[int], generator: np.random.Generator) -> dict[str, Metric]:
    """Flat metrics; ``_hK`` is at frame K, ``_success`` and ``_failure`` are by the episode's end; intervals are over
    episodes."""
    episode, curves = report.clips.group, report.curves
    found: dict[str, Metric] = {}

    def put(name: str, values: Array, unit: str = "", rows: NDArray[np.bool_] | None = None) -> None:
        chosen = np.ones(len(values), bool) if rows is None else rows
        if chosen.any():
            found[name] = Metric.mean(group_means(values[chosen], episode[chosen]), generator, unit)

    outcomes = {"": None, "_success": report.succeeds, "_failure": ~report.succeeds}
    for k in horizons:
        at, moving = k - 1, report.moving[:, k - 1]
        for name, values in curves.items():
            if name.startswith("psnr") and not name.startswith(("psnr_shuffled", "psnr_zero", "psnr_shift")):
                put(f"{name}_h{k}", values[:, at], "dB")
        for suffix, rows in outcomes.items():
            if suffix:
                put(f"psnr_h{k}{suffix}", curves["psnr"][:, at], "dB", rows)
            put(f"gripper_cm_h{k}{suffix}", curves["gripper_cm"][:, at], "cm", rows)
        put(f"gripper_cm_copy_h{k}", curves["gripper_cm_copy"][:, at], "cm")
        put(f"psnr_moving_gain_h{k}", (curves["psnr"] - curves["psnr_copy"])[:, at], "dB", moving)
        for name, by_horizon in report.at_horizon.items():
            put(f"{name}_h{k}", by_horizon[k])
        found[f"moving_clips_h{k}"] = Metric(float(moving.sum()), n=len(episode))

    def mean(values: Array, unit: str) -> Metric:
        return Metric.mean(group_means(values, episode), generator, unit)

    found |= {name: metric for name, metric in following_metrics(curves, mean).items() if metric is not None}
    found["clips"] = Metric(float(len(episode)), n=len(np.unique(episode)))
    return found
