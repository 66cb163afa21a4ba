"""Open-loop scores on held-out pairs: the real side generated from its first frame, told of the simulator or not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from world_model.codecs.clips import encode_clip
from world_model.data.pairs import PairedDataset
from world_model.metrics.clips import Clips, cut_clips
from world_model.metrics.image import psnr, ssim
from world_model.metrics.lpips import Lpips
from world_model.metrics.rollouts import generate, shuffled_actions
from world_model.rollout import Generated, Rollout

Scores = dict[str, NDArray[np.float64]]


@dataclass(frozen=True)
class PairClips:
    """B windows of both sides: the same moments and actions."""

    real: Clips
    sim: Clips


def cut_pairs(pairs: PairedDataset, history: int, horizon: int, each: int, seed: int) -> PairClips:
    """Up to ``each`` windows of every pair, at the same places of both sides.

    Raises:
        DataError: no pair is long enough.
    """
    sides = ([pairs[i].real for i in range(len(pairs))], [pairs[i].sim for i in range(len(pairs))])
    return PairClips(*(cut_clips(side, history, horizon, each, np.random.default_rng(seed)) for side in sides))


def true_latents(rollout: Rollout, clips: PairClips) -> Tensor:
    """The simulator's own latents of all frames ``(B, h + n, C, U, V)``."""
    with torch.no_grad():
        frames = torch.from_numpy(clips.sim.frames).to(rollout.runtime.device)
        return torch.cat([encode_clip(rollout.codec, some) for some in torch.split(frames, 16)])


def own_latents(rollout: Rollout, clips: PairClips, actions: NDArray[np.float32], seeds: NDArray[np.int64]) -> Tensor:
    """The student's simulation of ``actions`` from the simulator's known frames; shape as `true_latents`."""
    known = true_latents(rollout, clips)[:, : clips.sim.history]
    made = generate(rollout, clips.sim, actions, seeds)
    return torch.cat([known, made.latents if rollout.stride == 1 else made.sampled], dim=1)


def generate_told(
    rollout: Rollout,
    clips: PairClips,
    seeds: NDArray[np.int64],
    sim: Tensor | None = None,
    guidance: float = 1.0,
    actions: NDArray[np.float32] | None = None,
) -> Generated:
    """The real side of ``clips``, told of the simulator's latents ``sim`` where they are given.

    ``actions`` ``(B, n, a, A)`` take the place of the clips' own.
    """
    real = clips.real
    h = real.history
    state = rollout.start(real.frames[:, :h], real.proprio[:, :h], seeds, real.actions[:, : h - 1])
    lacking = rollout.history - h
    if sim is not None and lacking > 0:  # as the rollout pads its own history
        sim = torch.cat([sim[:, :1].expand(-1, lacking, *sim.shape[2:]), sim], dim=1)
    return rollout.advance(state, real.future if actions is None else actions, sim, guidance)[1]


def score(
    rollout: Rollout,
    clips: PairClips,
    seeds: NDArray[np.int64],
    *,
    sim: Tensor | None = None,
    guidance: float = 1.0,
    lpips: Lpips | None = None,
    actions: NDArray[np.float32] | None = None,
) -> Scores:
    """Means over the generated frames of each clip: psnr (dB), ssim, latent_l2, and lpips where its network is given.

    Arguments as of `generate_told`.
    """
    real = clips.real
    made = generate_told(rollout, clips, seeds, sim, guidance, actions)
    with torch.no_grad():
        known, device = real.history, made.latents.device
        wanted = torch.cat(
            [encode_clip(rollout.codec, torch.from_numpy(f)[None].to(device))[:, known:] for f in real.frames]
        )
    found = {
        "psnr": psnr(made.frames, real.truth).mean(axis=1),
        "ssim": ssim(made.frames, real.truth).mean(axis=1),
        "latent_l2": (made.sampled - wanted).square().flatten(1).mean(dim=1).double().cpu().numpy(),
    }
    if lpips is not None:
        generated, truth = (frames.reshape(-1, *frames.shape[2:]) for frames in (made.frames, real.truth))
        found["lpips"] = lpips.distance(generated, truth).reshape(made.frames.shape[:2]).mean(axis=1)
    return found


def follows_actions(
    rollout: Rollout, clips: PairClips, seeds: NDArray[np.int64], guidance: float, told: bool
) -> NDArray[np.float64]:
    """dB ``(B,)`` that other clips' actions cost; the student's simulation follows the same actions."""
    wrong = shuffled_actions(clips.real, np.random.default_rng(0))
    lost = []
    for actions in (clips.real.future, wrong):
        sim = own_latents(rollout, clips, actions, seeds) if told else None
        lost.append(score(rollout, clips, seeds, sim=sim, guidance=guidance, actions=actions)["psnr"])
    return np.asarray(lost[0] - lost[1])


CORRUPTIONS: Mapping[str, tuple[float, float]] = {
    "0": (1.0, 0.0),
    "25": (0.75, 0.2),
    "50": (0.5, 0.3),
    "75": (0.25, 0.3),
    "100": (0.0, 0.3),
}
"""Per cent of the simulator's latents that is gone, to what is kept and the deviation of the noise in its place."""
