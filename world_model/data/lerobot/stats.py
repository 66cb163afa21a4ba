"""Statistics as LeRobot keeps them: exact for numbers, per episode and merged for video."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

QUANTILES = {"q01": 0.01, "q10": 0.1, "q50": 0.5, "q90": 0.9, "q99": 0.99}
Stats = dict[str, list[Any]]


def number_stats(values: NDArray[Any]) -> Stats:
    """Of ``(N, ...)`` numbers or truth values, over the first axis."""
    flat = np.asarray(values, np.float64).reshape(len(values), -1)
    quantiles = np.quantile(flat, list(QUANTILES.values()), axis=0)
    return {
        "min": flat.min(0).tolist(),
        "max": flat.max(0).tolist(),
        "mean": flat.mean(0).tolist(),
        "std": flat.std(0).tolist(),
        "count": [len(flat)],
        **{name: row.tolist() for name, row in zip(QUANTILES, quantiles, strict=True)},
    }


def table_stats(table: pa.Table) -> dict[str, Stats]:
    """Of every column of a data table."""
    return {name: number_stats(column_array(table, name)) for name in table.column_names}


def column_array(table: pa.Table, name: str) -> NDArray[Any]:
    """A column as ``(N,)`` or, for lists of one width, ``(N, width)``."""
    column = table.column(name)
    if not pa.types.is_fixed_size_list(column.type):
        return np.asarray(column.to_numpy())
    width = column.type.list_size
    flat = np.concatenate([np.asarray(chunk.flatten()) for chunk in column.chunks] or [np.zeros(0, np.float32)])
    return flat.reshape(-1, width)


def frame_stats(frames: NDArray[np.uint8]) -> Stats:
    """Of ``(T, H, W, 3)`` frames as shares of 255, per channel in LeRobot's form ``(3, 1, 1)``."""
    # Exact, by counting grey levels.
    counts = np.stack([np.bincount(frames[..., c].ravel(), minlength=256) for c in range(3)])  # (3, 256)
    levels = np.arange(256) / 255
    total = counts.sum(1)
    mean = counts @ levels / total
    std = np.sqrt(np.maximum(counts @ levels**2 / total - mean**2, 0.0))
    below = np.cumsum(counts, axis=1) / total[:, None]
    present = counts > 0
    values = {
        "min": levels[present.argmax(1)],
        "max": levels[255 - present[:, ::-1].argmax(1)],
        "mean": mean,
        "std": std,
        **{name: levels[(below >= q).argmax(1)] for name, q in QUANTILES.items()},
    }
    return {**{name: v.reshape(3, 1, 1).tolist() for name, v in values.items()}, "count": [len(frames)]}


def merge_frame_stats(parts: Sequence[Stats]) -> Stats:
    """Of all frames together; quantiles are weighted means of the episodes', as LeRobot merges them."""
    arrays = {name: np.array([p[name] for p in parts], np.float64) for name in parts[0] if name != "count"}
    count = np.array([p["count"][0] for p in parts], np.float64)
    weight = (count / count.sum()).reshape(-1, 1, 1, 1)
    mean = (weight * arrays["mean"]).sum(0)
    variance = (weight * (arrays["std"] ** 2 + (arrays["mean"] - mean) ** 2)).sum(0)
    merged = {name: (weight * arrays[name]).sum(0) for name in QUANTILES}
    merged |= {"min": arrays["min"].min(0), "max": arrays["max"].max(0), "mean": mean, "std": np.sqrt(variance)}
    return {**{name: v.tolist() for name, v in merged.items()}, "count": [int(count.sum())]}
