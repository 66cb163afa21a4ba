"""Seeds of IRASim's study: those of other results files, and one number over all of them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from world_model.errors import DataError, InputError
from world_model.results import Metric

SHARED = re.compile(r"copy_|.+_parameters$")
"""Metrics that do not depend on the seed: equal wherever the same clips and models were measured."""


def earlier_seeds(
    records: Mapping[Path, Mapping[str, Any]], models: Sequence[str], settings: Mapping[str, Any]
) -> dict[str, Metric]:
    """Metrics of ``simforcing study irasim`` in results of other seeds, those of single seeds and shared ones.

    Raises:
        DataError: other ``settings`` (the study's notes), a seed twice, or other clips.
        InputError: a model of ``models`` is not in a file.
    """
    found: dict[str, Metric] = {}
    for file, record in records.items():
        metrics, notes = record["metrics"], record.get("notes", {})
        for model in models:
            if f"{model}_parameters" not in metrics:
                raise InputError(f"--merge {file} lacks model {model!r}; choose --models that all files have")
        for name, wanted in settings.items():
            there = notes.get(name)
            if isinstance(there, dict) and isinstance(wanted, Mapping):
                there = {model: value for model, value in there.items() if model in wanted}
            if there != wanted:
                raise DataError(f"{file} was measured with {name} {there}, not {wanted}; merge files of equal settings")
        keep = (*(f"{model}_" for model in models), "copy_")
        found = with_seed(found, {k: v for k, v in metrics.items() if k.startswith(keep)}, str(file))
    return found


def refuse_known(metrics: Mapping[str, Metric], names: Iterable[str], where: str) -> None:
    """Refuse seeds that are there already.

    Raises:
        DataError: one of ``names``, by ``where`` they come from, is in ``metrics``.
    """
    for name in names:
        if name in metrics:
            raise DataError(f"{where} has {name}, which is there already; give each seed once")


def with_seed(metrics: Mapping[str, Metric], more: Mapping[str, Metric], where: str) -> dict[str, Metric]:
    """Both, without what is over all seeds.

    Raises:
        DataError: a seed stands in both, or what all seeds share differs, by ``where`` more comes from.
    """
    joined = dict(metrics)
    for name, metric in more.items():
        if SHARED.match(name):
            before = joined.get(name, metric)
            if not math.isclose(before.value, metric.value, rel_tol=5e-3):
                raise DataError(
                    f"{where} has {name} {metric.value:g} where others have {before.value:g}; merge runs of the same "
                    f"data and models"
                )
            joined.setdefault(name, metric)
        elif "_seed_" in name:
            refuse_known(joined, [name], where)
            joined[name] = metric
    return joined


def seeds_of(metrics: Mapping[str, Metric], models: Sequence[str]) -> tuple[int, ...]:
    """The seeds that every model has.

    Raises:
        DataError: the models have different ones.
    """
    each = {
        model: sorted(int(k.rpartition("_")[2]) for k in metrics if k.startswith(f"{model}_steps_seed_"))
        for model in models
    }
    first = next(iter(each.values()))
    for model, seeds in each.items():
        if seeds != first:
            raise DataError(f"{model} has seeds {seeds} but {models[0]} {first}; merge files that have them all")
    return tuple(first)


def over_seeds(metrics: Mapping[str, Metric], name: str, seeds: Sequence[int]) -> Metric:
    """Mean of ``{name}_seed_{seed}``; its interval is the mean of theirs, at least as wide as that of their mean."""
    each = [metrics[f"{name}_seed_{seed}"] for seed in seeds]
    low, high = (_mean([getattr(one, side) for one in each]) for side in ("low", "high"))
    return Metric(sum(one.value for one in each) / len(each), low, high, each[0].n, each[0].unit)


def _mean(values: Sequence[float | None]) -> float | None:
    there = [x for x in values if x is not None]
    return sum(there) / len(there) if len(there) == len(values) else None
