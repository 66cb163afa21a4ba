"""Generated stretches beside their truth, frame by frame: what protocols and reports are made of."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from world_model.data.episode import Episode
from world_model.interface import Codec
from world_model.metrics.image import psnr, psnr_grey, ssim, ssim_grey
from world_model.metrics.lpips import Lpips
from world_model.metrics.resampling import Curve, curve_over_groups, mean_over_groups
from world_model.results import Metric

Array = NDArray[np.float64]
AT_FRAMES = ("psnr", "latent_l2")  # measures that are given at single frames too; curves have all of them
UNITS = {"psnr_grey": "dB", "psnr": "dB", "psnr_copy": "dB", "psnr_8bit_carry": "dB"}


@dataclass(frozen=True)
class Track:
    """n generated frames, the true ones of the same moments, and their measures."""

    start: str
    behaviour: str
    group: int  # tracks of one origin are not independent of each other
    first: int  # frame of the episode that was known last
    known: NDArray[np.uint8]  # (H, W, 3) that frame
    truth: NDArray[np.uint8]  # (n, H, W, 3)
    frames: NDArray[np.uint8]  # (n, H, W, 3)
    curves: dict[str, Array]  # (n,) each

    def __len__(self) -> int:
        return len(self.truth)

    @property
    def quality(self) -> float:
        """Mean colour PSNR in dB, by which tracks are ranked for pictures."""
        return float(self.curves["psnr"].mean())


def frame_measures(
    frames: NDArray[np.uint8], truth: NDArray[np.uint8], lpips: Lpips | None, *, grey: bool
) -> dict[str, Array]:
    """Picture measures ``(N,)`` of frames ``(N, H, W, 3)`` against the true ones of the same moments."""
    found = {"psnr_grey": psnr_grey(frames, truth), "ssim_grey": ssim_grey(frames, truth)} if grey else {}
    found |= {"psnr": psnr(frames, truth), "ssim": ssim(frames, truth)}
    if lpips is not None:
        found["lpips"] = lpips.distance(frames, truth)
    return found


@torch.inference_mode()
def latent_l2(codec: Codec, sampled: Tensor, truth: NDArray[np.uint8]) -> Array:
    """Mean squared difference ``(N,)`` of scaled latents ``(N, C, U, V)`` and those of true frames ``(N, H, W, 3)``."""
    true = codec.encode(torch.from_numpy(np.ascontiguousarray(truth)).to(sampled.device))
    return (sampled.float() - true.float()).square().mean(dim=(1, 2, 3)).double().cpu().numpy()


def curve_of(tracks: Sequence[Track], name: str, generator: np.random.Generator) -> Curve:
    """Mean of a measure at each frame over the tracks that reach it, with intervals over episodes."""
    values = np.full((len(tracks), max(map(len, tracks))), np.nan)
    for row, track in enumerate(tracks):
        values[row, : len(track)] = track.curves[name]
    return curve_over_groups(values, groups_of(tracks), generator)


def track_metrics(
    tracks: Sequence[Track], horizons: Sequence[int], generator: np.random.Generator
) -> dict[str, Metric]:
    """Each measure as the mean over all tracks of their means; some ``_hK`` too, at frame K of those that reach it.

    Every track counts once, every episode is there, and intervals are over episodes.
    """
    found = {}
    for name in tracks[0].curves:
        unit = UNITS.get(name, "")
        means = np.array([track.curves[name].mean() for track in tracks])
        found[name] = mean_over_groups(means, groups_of(tracks), generator, unit)
        for k in horizons if name in AT_FRAMES else ():
            long = [track for track in tracks if len(track) >= k]
            if long:
                at = np.array([track.curves[name][k - 1] for track in long])
                found[f"{name}_h{k}"] = mean_over_groups(at, groups_of(long), generator, unit)
    return found


def groups_of(tracks: Sequence[Track]) -> NDArray[np.int64]:
    """Group ``(B,)`` of each track."""
    return np.array([track.group for track in tracks])


def episodes_hash(episodes: Iterable[Episode]) -> str:
    """First 16 hex digits of the SHA-256 over starts, frames and actions: what was held against."""
    digest = hashlib.sha256()
    for episode in episodes:
        digest.update(f"{episode.start} {episode.frames.shape} {episode.actions.shape}".encode())
        digest.update(np.ascontiguousarray(episode.frames).tobytes())
        digest.update(np.ascontiguousarray(episode.actions).tobytes())
    return digest.hexdigest()[:16]
