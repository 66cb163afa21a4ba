"""Temperatures of the heads' events, fitted on validation data."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray

from world_model.heads.base import LabelHeads
from world_model.heads.examples import Examples
from world_model.interface import Codec, Outcome

_BATCH = 256
_RANGE = (-3.0, 3.0)  # natural log of the temperature


def calibrate(heads: LabelHeads, codec: Codec, examples: Examples) -> None:
    """Set each event's temperature to the one of least log loss on ``examples``.

    An event that is always or never true there keeps its temperature: it says nothing about it.
    """
    events = examples.targets(heads.labels[-len(heads.temperature) :]).numpy()
    logits = np.concatenate([heads(*batch)[1].numpy() for batch in _batches(codec, examples)])
    for column in range(events.shape[1]):
        if 0 < events[:, column].mean() < 1:
            heads.temperature[column] = fit_temperature(logits[:, column], events[:, column])


def fit_temperature(logits: NDArray[np.floating], events: NDArray[np.floating]) -> float:
    """The temperature T in [1/20, 20] for which sigmoid(logits / T) has the least log loss."""
    from scipy.optimize import minimize_scalar

    signed = np.where(events > 0.5, logits, -logits).astype(np.float64)
    found = minimize_scalar(
        lambda log: float(np.logaddexp(0.0, -signed / np.exp(log)).mean()), bounds=_RANGE, method="bounded"
    )
    return float(np.exp(found.x))


@torch.inference_mode()
def predict(heads: LabelHeads, codec: Codec, examples: Examples) -> Outcome:
    """Outcome of every example."""
    pieces = [heads.outcome(z, p, state=s) for z, p, s in _batches(codec, examples)]
    return Outcome(*(torch.cat([getattr(p, name) for p in pieces]) for name in ("reward", "success", "values")))


def _batches(codec: Codec, examples: Examples) -> Iterator[tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]]:
    for rows in torch.split(torch.arange(len(examples)), _BATCH):
        some = examples.select(rows)
        yield some.frames if some.state is not None else codec.encode(some.frames), some.proprio, some.state
