"""Gymnasium's vector infos: arrays over all environments, each with a mask ``_key`` of those that it speaks of."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def put(infos: dict[str, Any], num_envs: int, rows: NDArray[np.intp], record: dict[str, Any]) -> None:
    """Write arrays ``(R, ...)`` (or nested dicts of them) of the environments ``rows`` into ``infos``."""
    for key, value in record.items():
        if isinstance(value, dict):
            put(infos.setdefault(key, {}), num_envs, rows, value)
        else:
            if key not in infos:
                empty = None if value.dtype == object else 0
                infos[key] = np.full((num_envs, *value.shape[1:]), empty, value.dtype)
            infos[key][rows] = value
        infos.setdefault(f"_{key}", np.zeros(num_envs, np.bool_))[rows] = True


def rows_of(infos: dict[str, Any], rows: NDArray[np.intp]) -> dict[str, Any]:
    """The part of ``infos`` that speaks of ``rows``; new arrays of the same shapes."""
    part: dict[str, Any] = {}
    for key, value in infos.items():
        if isinstance(value, dict):
            part[key] = rows_of(value, rows)
        else:
            part[key] = np.full(value.shape, None if value.dtype == object else 0, value.dtype)
            part[key][rows] = value[rows]
    return part


def objects(values: list[Any]) -> NDArray[np.object_]:
    """A one-dimensional object array, whatever the values are."""
    array = np.empty(len(values), object)
    for index, value in enumerate(values):
        array[index] = value
    return array


def take(infos: dict[str, Any], index: int) -> dict[str, Any]:
    """Info of one environment, without masks and without what does not speak of it; numbers become Python's."""
    single: dict[str, Any] = {}
    for key, value in infos.items():
        if key.startswith("_") or not infos[f"_{key}"][index]:
            continue
        if isinstance(value, dict):
            single[key] = take(value, index)
        else:
            single[key] = value[index].item() if isinstance(value[index], np.generic) else value[index]
    return single
