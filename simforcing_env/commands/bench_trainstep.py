"""Time and memory of a training step of IRASim beside the published operations written out one by one, in one run.

Ratios are published over ours: more than 1 means that ours is quicker or smaller. ``ratio_step`` and ``ratio_memory``
are in float32 on both sides, ``ratio_step_best`` and ``ratio_memory_best`` with the quicker precision of each.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from simforcing_env.commands.checks import at_least, results_file


@dataclass(frozen=True)
class Config:
    """Options of ``simforcing bench trainstep``."""

    size: Literal["S", "B", "L", "XL"] = "S"
    """Published size."""
    grid: tuple[int, int] = (32, 40)
    """Rows and columns of the latents; a multiple of 2."""
    frames: int = 16
    """Of a clip, the known one included."""
    batch: int = 1
    """Clips of a step."""
    repeats: int = 7
    """Timed steps of each side and precision; medians count."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """Where to measure."""
    threads: int = 1
    """CPU threads."""
    json: Path | None = None
    """Results file."""


def run(config: Config) -> None:
    """Measure, print, write."""
    from statistics import median

    import torch

    from simforcing_env.evaluation.reporting import plain_provenance
    from world_model.results import Metric, write_results
    from world_model.runtime import has_bfloat16, resolve_device
    from world_model.training.step_cost import WHO, Shape, peak_bytes, seconds

    at_least(1, batch=config.batch, repeats=config.repeats, threads=config.threads)
    at_least(2, frames=config.frames, grid=config.grid)
    results_file(config.json)
    torch.set_num_threads(config.threads)
    device = resolve_device(config.device)
    metrics, steps, memory = {}, {}, {}
    for precision in ("float32", "bfloat16") if has_bfloat16(device) else ("float32",):
        shape = Shape(config.size, config.grid, config.frames, config.batch, precision, device)  # type: ignore[arg-type]
        times = seconds(shape, config.repeats)
        for who in WHO:
            key = f"{who}_{precision}"
            steps[key], memory[key] = median(times[who]), peak_bytes(who, shape, config.threads) / 1e6
            metrics[f"step_{key}"] = Metric(steps[key], min(times[who]), max(times[who]), config.repeats, "s")
            metrics[f"memory_{key}"] = Metric(memory[key], n=1, unit="MB")
            print(f"{key:16} {steps[key]:8.3f} s a step, {memory[key]:8.0f} MB")
    for name, found in (("step", steps), ("memory", memory)):
        metrics[f"ratio_{name}"] = Metric(found["plain_float32"] / found["ours_float32"], n=config.repeats)
        best = {who: min((k for k in steps if k.startswith(who)), key=steps.__getitem__) for who in WHO}
        metrics[f"ratio_{name}_best"] = Metric(found[best["plain"]] / found[best["ours"]], n=config.repeats)
        print(f"published over ours, {name}: {metrics[f'ratio_{name}'].value:.2f} in float32")
    if config.json is not None:
        write_results(config.json, metrics=metrics, **plain_provenance([0], device=device))
