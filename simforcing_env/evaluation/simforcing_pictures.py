"""What the trained arms of SimForcing's study generate, beside the truth."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from simforcing_env.evaluation.loading import open_simulator, rollout_of
from simforcing_env.evaluation.pictures import models_grid
from simforcing_env.pictures import Picture
from world_model.runtime import Runtime
from world_model.simforcing.scoring import PairClips, generate_told, own_latents, true_latents
from world_model.simforcing.study import ARMS


def arms_picture(checkpoints: Mapping[str, tuple[Path, float]], clips: PairClips, seeds: NDArray[np.int64]) -> Picture:
    """Below each clip the simulator's frames, then those of every arm.

    Arms that are told of the simulator have three rows: told of their own simulation, of the true one, and of that of
    another clip, whose movement they are to follow.

    Args:
        checkpoints: of each arm, and its guidance.
    """
    made = {"simulator": clips.sim.truth}
    for arm, (checkpoint, guidance) in checkpoints.items():
        rollout = rollout_of(open_simulator(str(checkpoint)), Runtime.choose("cpu"))
        if not ARMS[arm].told:
            made[arm] = generate_told(rollout, clips, seeds).frames
            continue
        true = true_latents(rollout, clips)
        told = {
            f"{arm}, own": own_latents(rollout, clips, clips.real.future, seeds),
            f"{arm}, true": true,
            f"{arm}, other": true.roll(len(true) // 2, 0),
        }
        made |= {name: generate_told(rollout, clips, seeds, sim, guidance).frames for name, sim in told.items()}
    return models_grid(clips.real.frames, made)


def some_clips(clips: PairClips, count: int) -> PairClips:
    """``count`` of them from all over."""
    rows = np.linspace(0, len(clips.real) - 1, min(count, len(clips.real))).round().astype(np.intp)
    return PairClips(clips.real.select(rows), clips.sim.select(rows))
