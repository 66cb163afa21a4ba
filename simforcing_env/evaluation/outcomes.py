"""What the heads say about generated frames and about the true frames of the same moments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from world_model.errors import InputError
from world_model.interface import Heads
from world_model.metrics.clips import Clips
from world_model.metrics.rollouts import generate
from world_model.pretrained import LearnedSimulator
from world_model.rollout import Rollout

_BATCH = 512
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Outcomes:
    """Heads' values ``(B, n)`` by label, on generated and on true frames, with the truth."""

    clips: Clips
    frames: NDArray[np.uint8]  # (B, n, H, W, 3) generated
    generated: dict[str, Array]
    on_truth: dict[str, Array]
    truth: dict[str, Array]
    before: dict[str, Array]  # (B,) truth at the last known frame


def predict_outcomes(
    simulator: LearnedSimulator,
    rollout: Rollout,
    clips: Clips,
    generator: np.random.Generator,
    stage: Callable[[str], None] = lambda name: None,
) -> Outcomes:
    """Generate every clip under its true actions and let the simulator's heads judge both kinds of frames.

    Raises:
        InputError: the clips lack a label of the heads.
    """
    heads: Any = simulator.heads
    missing = [name for name in heads.labels if name not in clips.labels]
    if missing:
        raise InputError(
            f"the heads predict {missing[0]!r}, which the episodes do not hold; record them with this label"
        )
    stage("generating")
    made = generate(rollout, clips, clips.future, generator.integers(0, 2**31, len(clips)))
    stage("judging")
    h = clips.history
    device = rollout.runtime.device
    proprio = torch.from_numpy(simulator.contract.normalize_proprio(clips.proprio[:, h:])).to(device)
    with torch.inference_mode():
        latents = torch.cat([simulator.codec.encode(torch.from_numpy(f)[None].to(device)) for f in clips.truth])
        generated = _values(heads, made.latents, made.normalized_proprio, made.state)
        read = rollout.read_state(latents.flatten(0, 1), proprio.flatten(0, 1))
        state = None if read is None else read.reshape(*latents.shape[:2], -1)
        on_truth = _values(heads, latents, proprio, state)
    truth = {name: clips.labels[name][:, h:].astype(np.float64) for name in heads.labels}
    before = {name: clips.labels[name][:, h - 1].astype(np.float64) for name in heads.labels}
    return Outcomes(clips, made.frames, generated, on_truth, truth, before)


def _values(heads: Heads, latents: Tensor, proprio: Tensor, state: Tensor | None) -> dict[str, Array]:
    """``(B, n, C, U, V)``, ``(B, n, P)`` and ``(B, n, S)`` to ``(B, n)`` for each label."""
    batch, length = latents.shape[:2]
    z, p, s = latents.flatten(0, 1), proprio.flatten(0, 1), None if state is None else state.flatten(0, 1)
    parts = [
        heads.outcome(z[rows], p[rows], state=None if s is None else s[rows]).values
        for rows in torch.split(torch.arange(batch * length), _BATCH)
    ]
    values = torch.cat(parts).double().cpu().numpy()
    return {name: values[:, i].reshape(batch, length) for i, name in enumerate(heads.labels)}
