"""A contract that fits what is recorded: what readers declare is wide or a guess, and models need scales."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from world_model.contract import Contract, Dimension, Normalizer
from world_model.data.readers.base import Numbers, Reader

LOW, HIGH = 0.01, 0.99
"""Quantiles that are mapped to -1 and 1."""
SMALLEST = 1e-3
"""Least width of a normaliser's range, as a share of the bounds: numbers that hardly move are not blown up."""


@dataclass(frozen=True)
class Measured:
    """The numbers of some episodes, without pictures; entry i of each field is of the i-th of them."""

    actions: tuple[NDArray[np.float32], ...]  # (T - 1, A) each; of several actions a frame, all in a row
    proprio: tuple[NDArray[np.float32], ...]  # (T, P) each
    tasks: tuple[str, ...]

    @classmethod
    def of(cls, numbers: Iterable[Numbers]) -> Measured:
        """Of episodes as readers give them; there must be one at least."""
        rows = [(n.actions.reshape(-1, n.actions.shape[2]), n.proprio, n.task) for n in numbers]
        actions, proprio, tasks = zip(*rows, strict=True)
        return cls(actions, proprio, tasks)

    @property
    def lengths(self) -> tuple[int, ...]:
        """Observations of each episode."""
        return tuple(map(len, self.proprio))

    def part(self, chosen: Sequence[int]) -> Measured:
        """Some of the episodes, by their place here."""
        actions, proprio = (tuple(rows[i] for i in chosen) for rows in (self.actions, self.proprio))
        return Measured(actions, proprio, tuple(self.tasks[i] for i in chosen))


def fitted_contract(reader: Reader, measured: Measured, scale_on: Measured | None = None) -> Contract:
    """The reader's contract with bounds that hold all of ``measured``; each that had to be widened is warned of.

    The normaliser is the published one where there is one, else from the quantiles of ``scale_on`` (the training part).
    """
    contract = reader.contract
    actions = _widened(reader, contract.actions, np.concatenate(measured.actions), "action")
    proprio = _widened(reader, contract.proprio, np.concatenate(measured.proprio), "proprio")
    if reader.scaled == "all":
        return replace(contract, actions=actions, proprio=proprio)
    on = scale_on or measured
    published = contract.normalizer.action_low, contract.normalizer.action_high
    scales = published if reader.scaled == "actions" else _quantiles(actions, np.concatenate(on.actions))
    normalizer = Normalizer("quantiles", *scales, *_quantiles(proprio, np.concatenate(on.proprio)))
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
