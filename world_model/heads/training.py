"""Training of outcome heads on true frames, spoiled now and then as generated frames are."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from world_model.data.spoil import spoil
from world_model.heads.base import LabelHeads
from world_model.heads.examples import Examples
from world_model.initial import initialise
from world_model.interface import Codec, to_uint8
from world_model.training.head_config import HeadTraining

Progress = Callable[[float, float], None]


def train_heads(
    examples: Examples,
    codec: Codec,
    heads: LabelHeads,
    training: HeadTraining,
    generator: torch.Generator,
    progress: Progress = lambda part, loss: None,
) -> LabelHeads:
    """Fit new heads for the budget; ``progress`` is told the part that is gone and the loss.

    Raises:
        DataError: a label of the heads was not recorded.
    """
    initialise(heads, generator)
    heads.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    count = len(heads.labels) - len(heads.temperature)
    shares, events = examples.targets(heads.labels[:count]), examples.targets(heads.labels[count:])
    rewards = [heads.labels[column] for column in sorted(set(heads.columns[0].tolist()))]
    cumulated = np.cumsum(balance(examples.targets(rewards).amax(1).numpy(), training.edges))
    optimizer = torch.optim.AdamW(heads.parameters(), betas=(0.9, 0.98), weight_decay=training.weight_decay)
    start, part, step = time.process_time(), 0.0, 0
    while part < 1:
        warm = min(1.0, (step + 1) / 100)
        optimizer.param_groups[0]["lr"] = training.learning_rate * warm * (0.5 + 0.5 * math.cos(math.pi * part)) + 1e-5
        rows = _draw(cumulated, training.batch, generator)
        some = examples.select(rows)
        state, latents = some.state, some.frames
        if state is None:
            latents = _latents(some.frames, codec, training.spoiled, generator)
        else:
            state = _noised(state, training.state_noise, generator)
        found, logits = heads(latents, _noised(some.proprio, training.proprio_noise, generator), state)
        loss = functional.binary_cross_entropy_with_logits(logits, events[rows])
        if count:
            loss = loss + functional.smooth_l1_loss(found, shares[rows], beta=training.beta) / training.beta
        optimizer.zero_grad()
        torch.autograd.backward(loss)
        nn.utils.clip_grad_norm_(heads.parameters(), 1.0)
        optimizer.step()
        step += 1
        spent = (time.process_time() - start) / (60 * training.minutes)
        part = min(1.0, max(spent, step / (training.steps or math.inf)))
        progress(part, loss.item())
    return heads.eval().requires_grad_(False)


def balance(label: NDArray[np.float32], edges: Sequence[float]) -> NDArray[np.float64]:
    """Weights ``(N,)`` that give each bin between ``edges`` the same mass (bins without examples none)."""
    index = np.digitize(label, edges)
    counts = np.bincount(index, minlength=len(edges) + 1)
    return 1.0 / counts[index]


def _draw(cumulated: NDArray[np.float64], batch: int, generator: torch.Generator) -> Tensor:
    places = torch.rand(batch, generator=generator, dtype=torch.float64).numpy() * cumulated[-1]
    return torch.from_numpy(np.minimum(np.searchsorted(cumulated, places, "right"), len(cumulated) - 1))


def _noised(values: Tensor, scale: float, generator: torch.Generator) -> Tensor:
    return values + scale * torch.randn(values.shape, generator=generator)


def _latents(frames: Tensor, codec: Codec, spoiled: float, generator: torch.Generator) -> Tensor:
    """Latents of 8-bit frames, of which a share is blurred or noised before it is rounded."""
    with torch.no_grad():
        changed = torch.rand(len(frames), generator=generator) < spoiled
        frames = frames.clone()
        if changed.any():
            frames[changed] = to_uint8(spoil(frames[changed], generator) / 255)
        return codec.encode(frames)
