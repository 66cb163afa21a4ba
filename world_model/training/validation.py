"""Validation while training: rollouts of held-out clips against copy-last and against shuffled actions."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import imageio.v3 as iio
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from world_model.contract import Contract
from world_model.errors import DataError
from world_model.metrics.image import psnr
from world_model.rollout import Rollout
from world_model.training.windows import Windows


@dataclass(frozen=True)
class ValidationClips:
    """True clips of h history and n future frames."""

    frames: NDArray[np.uint8]  # (B, h + n, H, W, 3)
    proprio: NDArray[np.float32]  # (B, h + n, P) in units
    actions: NDArray[np.float32]  # (B, h + n - 1, a, A) in units
    episode: NDArray[np.int64]  # (B,) first row of the episode in the data set
    history: int


def pick_clips(windows: Windows, contract: Contract, count: int, seed: int) -> ValidationClips:
    """``count`` windows without padding, drawn by their weights.

    Raises:
        DataError: there is none.
    """
    drawn = windows.draw(4 * count, seed, 0)
    return _clips_of(windows, contract, drawn[windows.rows(drawn)[1].all(dim=1)][:count])


def spread_clips(windows: Windows, contract: Contract, count: int) -> ValidationClips:
    """``count`` windows without padding, evenly spread over all and none of them twice; all if there are fewer.

    Raises:
        DataError: there is none.
    """
    every = torch.arange(len(windows))
    every = every[windows.rows(every)[1].all(dim=1)]
    places = torch.linspace(0, len(every) - 1, min(count, len(every))).round().long()
    return _clips_of(windows, contract, every[places])


def _clips_of(windows: Windows, contract: Contract, drawn: Tensor) -> ValidationClips:
    if not len(drawn):
        raise DataError(
            f"hardly any held-out episode has {windows.config.length} frames, as validation needs; "
            "record longer ones or set train.validation_frames lower"
        )
    rows, _ = windows.rows(drawn)
    low, high = (np.asarray(b) for b in (contract.normalizer.action_low, contract.normalizer.action_high))
    actions = (windows.actions[rows[:, :-1]].numpy() + 1) / 2 * (high - low) + low
    return ValidationClips(
        windows.frames[rows].numpy(),
        contract.denormalize_proprio(windows.proprio[rows].numpy()),
        np.clip(actions, low, high).astype(np.float32),
        windows.first[drawn].numpy(),
        windows.config.history,
    )


def clip_psnr(
    rollout: Rollout, clips: ValidationClips, picture: Path | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """PSNR ``(B, n)`` of generated frames, of copying the last frame, and with another clip's actions.

    ``picture``: an mp4 with the true clips above the generated ones.
    """
    h, seeds = clips.history, np.arange(len(clips.frames))
    start = rollout.start(clips.frames[:, :h], clips.proprio[:, :h], seeds, clips.actions[:, : h - 1])
    future, truth = clips.actions[:, h - 1 :], clips.frames[:, h:]
    made = rollout.advance(start, future)[1].frames
    shuffled = rollout.advance(start, np.roll(future, 1, axis=0))[1].frames
    if picture is not None:
        write_video(picture, truth[:8], made[:8], rollout.contract.frame_hz)
    own, copy, other = (psnr(x, truth) for x in (made, clips.frames[:, h - 1 : h], shuffled))
    return own, copy, other


def validate(rollout: Rollout, clips: ValidationClips, picture: Path | None = None) -> dict[str, float]:
    """Means over clips at frames 1, 8 and last, copy-last's, and the loss when clips swap their actions."""
    own, copy, other = clip_psnr(rollout, clips, picture)
    frames = sorted({1, min(8, own.shape[1]), own.shape[1]})
    metrics = {f"psnr_{k}": float(own[:, k - 1].mean()) for k in frames}
    metrics |= {f"copy_{k}": float(copy[:, k - 1].mean()) for k in frames}
    return metrics | {"shuffle_gap": float((own - other).mean())}


def write_video(path: Path, truth: NDArray[np.uint8], made: NDArray[np.uint8], fps: float, scale: int = 2) -> None:
    """Clips ``(B, n, H, W, 3)`` side by side, truth above generated, as mp4."""
    rows = [np.concatenate(list(x), axis=2) for x in (truth, made)]  # (n, H, B * W, 3) each
    grid = np.concatenate(rows, axis=1).repeat(scale, axis=1).repeat(scale, axis=2)
    iio.imwrite(path, grid, plugin="pyav", codec="libx264", fps=int(max(1, round(fps))))
    still = path.with_suffix(".png")
    picks = sorted({0, 3, 7, len(grid) - 1} & set(range(len(grid))))
    iio.imwrite(still, np.concatenate([grid[k] for k in picks], axis=0))


def overfit(
    model: torch.nn.Module, clip: object, generator: torch.Generator, steps: int, rate: float
) -> tuple[float, float]:
    """Train ``model`` on one batch; the mean loss over the first and over the last tenth of the steps."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, betas=(0.9, 0.95))
    losses = []
    for _ in range(steps):
        loss, _ = model.loss(clip, generator)  # type: ignore[operator]
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    tenth = max(1, steps // 10)
    return float(np.mean(losses[:tenth])), float(np.mean(losses[-tenth:]))
