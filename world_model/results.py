"""Measured numbers with their intervals, and the one JSON form that every measuring command writes."""

from __future__ import annotations

import datetime
import json
import math
import os
import platform
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from world_model.atomic import replace_text
from world_model.errors import DataError, InputError

FIELDS = ("command", "created", "checkpoint", "contract", "device", "sampler_steps", "seeds", "metrics")


@dataclass(frozen=True)
class Metric:
    """A number, its 95 % interval where there is one, how many samples stand behind it, and its unit."""

    value: float
    low: float | None = None
    high: float | None = None
    n: int | None = None
    unit: str = ""

    @classmethod
    def mean(cls, values: ArrayLike, generator: np.random.Generator, unit: str = "") -> Metric:
        """Mean of independent ``(n,)`` values with its bootstrap interval."""
        array = np.asarray(values, np.float64)
        low, high = bootstrap_interval(array, generator)
        return cls(float(array.mean()), low, high, len(array), unit)

    @classmethod
    def rate(cls, successes: int, n: int, unit: str = "") -> Metric:
        """Share of ``successes`` in ``n`` trials with its Wilson interval."""
        low, high = wilson(successes, n)
        return cls(successes / n, low, high, n, unit)


def bootstrap_interval(
    values: ArrayLike, generator: np.random.Generator, resamples: int = 2000
) -> tuple[float, float] | tuple[None, None]:
    """95 % percentile bootstrap interval of the mean of independent ``(n,)`` values.

    One value has no interval: ``(None, None)``. Values that belong together (frames of an episode) are
    not independent: average them first.

    Raises:
        InputError: not one axis, empty, or not finite.
    """
    from scipy.stats import bootstrap

    array = np.asarray(values, np.float64)
    if array.ndim != 1 or array.size == 0 or not np.isfinite(array).all():
        raise InputError(
            f"bootstrap takes a row of finite values but got shape {array.shape} with "
            f"{int((~np.isfinite(array)).sum())} not finite; leave those out and say how many they were"
        )
    if array.size == 1:
        return None, None
    result = bootstrap(
        (array,), np.mean, n_resamples=resamples, batch=200, method="percentile", vectorized=True, rng=generator
    )
    return float(result.confidence_interval.low), float(result.confidence_interval.high)


def wilson(successes: int, n: int) -> tuple[float, float]:
    """95 % Wilson score interval of a rate.

    Raises:
        InputError: no trials, or more successes than trials.
    """
    from scipy.stats import binomtest

    if n < 1 or not 0 <= successes <= n:
        raise InputError(f"a rate of {successes} in {n} trials has no interval; give 0 <= successes <= n and n >= 1")
    interval = binomtest(int(successes), int(n)).proportion_ci(method="wilson")
    return float(interval.low), float(interval.high)


def write_results(
    path: str | Path,
    *,
    command: str,
    checkpoint: str | None,
    contract: str | None,
    device: Mapping[str, Any],
    sampler_steps: int | None,
    seeds: Sequence[int | str],
    metrics: Mapping[str, Metric],
    notes: Mapping[str, Any] | None = None,
) -> None:
    """Write one results file; ``checkpoint`` and ``contract`` are hashes, None where none took part.

    ``device`` is `describe_device`, ``command`` may be `this_command`, ``notes`` are further JSON values: what was
    measured on, what is missing and why. The file appears whole or not at all.

    Raises:
        InputError: no metrics, or a metric that is NaN or infinite.
    """
    if not metrics:
        raise InputError(f"{path} would hold no metrics; measure at least one")
    for name, metric in metrics.items():
        numbers = [x for x in (metric.value, metric.low, metric.high) if x is not None]
        if not all(math.isfinite(x) for x in numbers):
            raise InputError(f"metric {name!r} is {numbers}, which is not finite; leave it out or mend its measurement")
    record = {
        "command": command,
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "checkpoint": checkpoint,
        "contract": contract,
        "device": dict(device),
        "sampler_steps": sampler_steps,
        "seeds": list(seeds),
        "metrics": {name: asdict(metric) for name, metric in metrics.items()},
    }
    if notes is not None:
        record["notes"] = dict(notes)
    replace_text(Path(path), json.dumps(record, indent=2, default=_plain) + "\n")


def read_results(path: str | Path) -> dict[str, Any]:
    """Read a file of `write_results`; its ``metrics`` become `Metric` objects.

    Raises:
        DataError: not JSON, or a field is missing or foreign.
    """
    try:
        record: dict[str, Any] = json.loads(Path(path).read_text())
        lacking = [name for name in FIELDS if name not in record]
        if lacking:
            raise KeyError(*lacking)
        record["metrics"] = {name: Metric(**metric) for name, metric in record["metrics"].items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(
            f"{path} is not a results file ({error!r}); write it with the command's --json option"
        ) from error
    return record


def describe_device(device: str = "cpu", dtype: str = "float32") -> dict[str, Any]:
    """What a number was measured on: processor or GPU name, cores, torch threads, dtype, torch version."""
    import torch

    on_gpu = device.startswith("cuda")
    return {
        "type": device,
        "processor": torch.cuda.get_device_name(device) if on_gpu else processor_name(),
        "cores": usable_cores(),
        "threads": torch.get_num_threads(),
        "dtype": dtype.removeprefix("torch."),
        "torch": str(torch.__version__),
    }


def processor_name() -> str:
    """Model name of the processor, as the system tells it."""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def usable_cores() -> int:
    """Cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def this_command() -> str:
    """The shell line that started this process, its program without folders."""
    return shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]])


def _plain(value: Any) -> Any:
    """JSON form of numpy scalars, which metrics are often made from."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} has no JSON form")
