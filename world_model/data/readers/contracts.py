"""A contract that fits what is recorded: what readers declare is wide or a guess, and models need scales."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from world_model.contract import Contract, Dimension, Normalizer
from world_model.data.readers.base import Reader

LOW, HIGH = 0.01, 0.99
"""Quantiles that are mapped to -1 and 1."""
SMALLEST = 1e-3
"""Least width of a normaliser's range, as a share of the bounds: numbers that hardly move are not blown up."""


@dataclass(frozen=True)
class Measured:
    """Actions and proprio of some episodes, row by row."""

    actions: NDArray[np.float32]  # (N, A)
    proprio: NDArray[np.float32]  # (M, P)
    lengths: tuple[int, ...]
    tasks: tuple[str, ...]
    """Of each episode."""


def measure(reader: Reader, episodes: Sequence[int], progress: Callable[[int], None] = lambda done: None) -> Measured:
    """Read the numbers of some episodes, without pictures (errors as of the reader)."""
    actions, proprio, tasks = [], [], []
    for done, index in enumerate(episodes, 1):
        numbers = reader.numbers(index)
        actions.append(numbers.actions.reshape(-1, reader.contract.action_dim))
        proprio.append(numbers.proprio)
        tasks.append(numbers.task)
        progress(done)
    return Measured(np.concatenate(actions), np.concatenate(proprio), tuple(map(len, proprio)), tuple(tasks))


def fitted_contract(reader: Reader, measured: Measured, scale_on: Measured | None = None) -> Contract:
    """The reader's contract with bounds that hold all of ``measured``; each that had to be widened is warned of.

    The normaliser is the published one where there is one, else from the quantiles of ``scale_on`` (the training part).
    """
    contract = reader.contract
    actions = _widened(reader, contract.actions, measured.actions, "action")
    proprio = _widened(reader, contract.proprio, measured.proprio, "proprio")
    if reader.scaled == "all":
        return replace(contract, actions=actions, proprio=proprio)
    on = scale_on or measured
    published = contract.normalizer.action_low, contract.normalizer.action_high
    scales = published if reader.scaled == "actions" else _quantiles(actions, on.actions)
    normalizer = Normalizer("quantiles", *scales, *_quantiles(proprio, on.proprio))
    return replace(contract, actions=actions, proprio=proprio, normalizer=normalizer)


def _widened(
    reader: Reader, dims: tuple[Dimension, ...], values: NDArray[np.float32], group: str
) -> tuple[Dimension, ...]:
    out = []
    for dim, column in zip(dims, values.T, strict=True):
        low, high = (float(f(column)) if len(column) else d for f, d in ((np.min, dim.low), (np.max, dim.high)))
        if low < dim.low or high > dim.high:
            count = int(((column < dim.low) | (column > dim.high)).sum())
            reader.warn(
                f"{group} {dim.name!r} goes from {low:.4g} to {high:.4g}, beyond [{dim.low:g}, {dim.high:g}], in "
                f"{count} of {len(column)} rows; the bounds are widened"
            )
            dim = replace(dim, low=min(dim.low, low), high=max(dim.high, high))
        out.append(dim)
    return tuple(out)


def _quantiles(dims: tuple[Dimension, ...], values: NDArray[np.float32]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    low, high = [], []
    for dim, column in zip(dims, values.T, strict=True):
        a, b = (float(q) for q in np.quantile(column, (LOW, HIGH))) if len(column) else (dim.low, dim.high)
        least = SMALLEST * (dim.high - dim.low)
        if b - a < least:
            a, b = (a + b - least) / 2, (a + b + least) / 2
        low.append(a)
        high.append(b)
    return tuple(low), tuple(high)


def split_by_order(count: int) -> list[str]:
    """Splits of episodes in their stored order: the last tenth (rounded up) is test, as many before it are val.

    One episode is train; of two the last is test.
    """
    tenth = count - count * 9 // 10 if count > 1 else 0
    val = tenth if count - 2 * tenth >= 1 else 0
    return ["train"] * (count - val - tenth) + ["val"] * val + ["test"] * tenth
