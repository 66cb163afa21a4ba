"""What every evaluation prints and writes about itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from simforcing_env.evaluation.tables import write_csv
from world_model.contract import Contract
from world_model.pretrained import LearnedSimulator
from world_model.results import Metric, describe_device, this_command, write_results
from world_model.rollout import Rollout


def provenance(simulator: LearnedSimulator, rollout: Rollout, seeds: Sequence[int | str]) -> dict[str, Any]:
    """The arguments of `write_results` other than path and metrics."""
    return {
        "command": this_command(),
        "checkpoint": simulator.hash,
        "contract": simulator.contract.hash,
        "device": describe_device(rollout.runtime.device, rollout.runtime.precision),
        "sampler_steps": rollout.sampler.steps,
        "seeds": seeds,
    }


def teacher_provenance(contract: Contract, seeds: Sequence[int | str]) -> dict[str, Any]:
    """As `provenance`, of a measurement in which no checkpoint takes part."""
    return plain_provenance(seeds, contract.hash)


def plain_provenance(
    seeds: Sequence[int | str],
    contract: str | None = None,
    device: str = "cpu",
    precision: str = "float32",
    *,
    checkpoint: str | None = None,
    sampler_steps: int | None = None,
) -> dict[str, Any]:
    """As `provenance`, of what is told by hand: no checkpoint, contract or sampler where none takes part."""
    return {
        "command": this_command(),
        "checkpoint": checkpoint,
        "contract": contract,
        "device": describe_device(device, precision),
        "sampler_steps": sampler_steps,
        "seeds": seeds,
    }


def report(
    path: Path | None,
    metrics: Mapping[str, Metric],
    told: Mapping[str, Any],
    heading: Sequence[str],
    rows: Sequence[Sequence[object]],
) -> None:
    """Print metrics; where a results file is wanted, write it with ``told`` (`provenance`) and a table beside it."""
    print_metrics(metrics)
    if path is not None:
        write_results(path, metrics=metrics, **told)
        write_csv(path.with_suffix(".csv"), heading, rows)


def print_metrics(metrics: Mapping[str, Metric]) -> None:
    """One line each: value, 95 % interval, n, unit."""
    from simforcing_env.commands.tables import show

    for name, metric in metrics.items():
        interval = "" if metric.low is None or metric.high is None else f"[{show(metric.low)}, {show(metric.high)}]"
        count = "" if metric.n is None else f"n {metric.n}"
        print(f"{name:24} {show(metric.value):>8} {metric.unit:8} {interval:20} {count}".rstrip())  # noqa: T201
