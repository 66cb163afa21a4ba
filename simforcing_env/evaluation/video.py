"""Generated frames held against held-out true ones: pixels, poses and action following, clip by clip."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simforcing_env.evaluation.baselines import constant_velocity, copy_last, extrapolated, true_poses
from simforcing_env.evaluation.following import other_actions
from simforcing_env.evaluation.pose_reader import PoseReader
from world_model.metrics.clips import Clips
from world_model.metrics.image import psnr, ssim
from world_model.metrics.lpips import Lpips
from world_model.metrics.poses import angle_error, position_error
from world_model.metrics.rollouts import generate
from world_model.rollout import Rollout

MOVING_PX, MOVING_DEG = 4.0, 2.0  # block displacement by a frame from which a clip counts as moving
UNREADABLE_PX = 6.0  # misfit of the reader above which a frame shows no rigid T; true frames stay below 4
Array = NDArray[np.float64]


@dataclass(frozen=True)
class VideoReport:
    """Everything measured, ``(B, n)`` by clip and generated frame unless said otherwise."""

    clips: Clips
    frames: NDArray[np.uint8]  # (B, n, H, W, 3) generated
    curves: dict[str, Array]
    at_horizon: dict[str, dict[int, Array]]  # (B,) each; too slow for every frame
    moving: NDArray[np.bool_]  # (B, n) the block lies elsewhere than in the last known frame


def evaluate_video(
    rollout: Rollout,
    clips: Clips,
    reader: PoseReader,
    lpips: Lpips | None,
    horizons: Sequence[int],
    generator: np.random.Generator,
    stage: Callable[[str], None] = lambda name: None,
) -> VideoReport:
    """Generate each clip open-loop with its own, other and shifted actions, and measure; ``stage`` is told each step.

    Raises:
        InputError: no recorded state, one known frame only, or clips from too few episodes.
    """
    truth, poses = clips.truth, true_poses(clips)
    guesses = {"velocity": extrapolated(clips)}  # what may be refused comes before the long work
    seeds = generator.integers(0, 2**31, len(clips))
    others = other_actions(clips, rollout.contract, generator)
    stage("generating")
    made = generate(rollout, clips, clips.future, seeds)
    curves = {"psnr": psnr(made.frames, truth), "psnr_copy": psnr(copy_last(clips), truth)}
    curves["uncertainty"] = made.uncertainty.astype(np.float64)
    stage("drawing the constant-velocity baseline")
    velocity = constant_velocity(clips)
    curves["psnr_velocity"] = psnr(velocity, truth)
    stage("reading poses")
    future = poses[:, clips.history :]
    curves |= _pose_errors(reader, made.frames, future) | _pose_errors(reader, truth, future, "reader_")
    curves["proprio_px"] = position_error(made.proprio, future[..., :2])
    guesses["copy"] = np.broadcast_to(poses[:, clips.history - 1 : clips.history], future.shape)
    for name, guess in guesses.items():
        curves |= {f"{k}_{name}": v for k, v in _distances(guess, future).items()}
    stage("generating from one known frame")
    one = generate(rollout, clips.knowing(1), clips.future, seeds)
    curves["psnr_one_frame"] = psnr(one.frames, truth)
    curves |= {f"{k}_one_frame": v for k, v in _pose_errors(reader, one.frames, future).items()}
    for name, actions in others.items():
        stage(f"generating with {name} actions")
        curves[f"psnr_{name}"] = psnr(generate(rollout, clips, actions, seeds).frames, truth)
    stage("comparing pictures")
    kinds = {"": made.frames, "_copy": copy_last(clips), "_velocity": velocity}
    at_horizon = picture_distances(kinds, truth, lpips, horizons)
    moved = (curves["block_px_copy"] > MOVING_PX) | (curves["block_deg_copy"] > MOVING_DEG)
    return VideoReport(clips, made.frames, curves, at_horizon, moved)


def picture_distances(
    kinds: Mapping[str, NDArray[np.uint8]], truth: NDArray[np.uint8], lpips: Lpips | None, horizons: Sequence[int]
) -> dict[str, dict[int, Array]]:
    """SSIM and, with its weights, LPIPS of frames ``(B, n, H, W, 3)`` of each kind (a suffix) at each horizon."""
    measures: dict[str, Callable[[NDArray[np.uint8], NDArray[np.uint8]], Array]] = {"ssim": ssim}
    if lpips is not None:
        measures["lpips"] = lpips.distance
    return {
        name + suffix: {k: measure(frames[:, k - 1], truth[:, k - 1]) for k in horizons}
        for name, measure in measures.items()
        for suffix, frames in kinds.items()
    }


def _pose_errors(reader: PoseReader, frames: NDArray[np.uint8], poses: Array, prefix: str = "") -> dict[str, Array]:
    batch, length = frames.shape[:2]
    read = reader.read(np.ascontiguousarray(frames.reshape(-1, *frames.shape[2:])))
    found = np.concatenate([read.agent, read.block, read.angle[:, None]], 1).reshape(batch, length, 5)
    errors = {f"{prefix}{k}": v for k, v in _distances(found, poses).items()}
    return {**errors, f"{prefix}misfit": read.misfit.reshape(batch, length)}


def _distances(found: Array, poses: Array) -> dict[str, Array]:
    return {
        "agent_px": position_error(found[..., :2], poses[..., :2]),
        "block_px": position_error(found[..., 2:4], poses[..., 2:4]),
        "block_deg": angle_error(found[..., 4], poses[..., 4]),
    }
