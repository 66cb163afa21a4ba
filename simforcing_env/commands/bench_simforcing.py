"""What SimForcing costs a chunk: passes, seconds and memory of each mode, and operations of the published size.

w0 is told of no simulator; student simulates for itself first, teacher is a live simulator; w06 and w1 are the weight
of what is told. Seconds are of one episode's chunk, the simulator's part included; memory is the most that a
process which does only this has held. Operations are counted on the meta device for Wan2.2-TI2V-5B with its action
expert: a multiplication and an addition are two.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from simforcing_env.commands.checks import at_least, results_file


@dataclass(frozen=True)
class Config:
    """Options of ``simforcing bench simforcing``."""

    checkpoint: str | None = None
    """Folder or name of a paired student; without one only operations are counted."""
    start: str = "seed-1"
    """Start that a simulator begins at."""
    chunk: int = 8
    """Frames of a chunk."""
    sampler_steps: int = 4
    """Steps of the checkpoint's sampler."""
    repeats: int = 5
    """Timed chunks of each mode; medians count."""
    published_steps: int = 20
    """Steps of the published size's sampler."""
    grid: tuple[int, int] = (14, 20)
    """Rows and columns of its latents."""
    text: int = 128
    """Tokens of its prompt."""
    threads: int = 2
    """CPU threads."""
    json: Path | None = None
    """Results file."""


def run(config: Config) -> None:
    """Count, measure, print, write."""
    import torch

    from simforcing_env.evaluation.chunk_cost import Chunk, measure
    from simforcing_env.evaluation.reporting import plain_provenance
    from simforcing_env.registration import WEIGHTS
    from world_model.models.wan.config import WanConfig
    from world_model.models.wan.student import WanForcing, WanForcingConfig
    from world_model.pretrained import LearnedSimulator, register_folder
    from world_model.results import Metric, write_results
    from world_model.runtime import Runtime
    from world_model.simforcing.cost import MODES, operations

    at_least(1, chunk=config.chunk, sampler_steps=config.sampler_steps, repeats=config.repeats, threads=config.threads)
    at_least(1, published_steps=config.published_steps, text=config.text)
    at_least(2, grid=config.grid)
    results_file(config.json)
    register_folder(WEIGHTS)
    found_hash = None if config.checkpoint is None else LearnedSimulator.from_pretrained(config.checkpoint).hash
    with torch.device("meta"):
        student = WanForcing(WanForcingConfig(video=WanConfig(told_proprio=7, text_tokens=config.text)))
    found = operations(student, config.grid, config.text)
    metrics = {
        "tflop_actions": Metric(found.actions / 1e12, n=1, unit="TFLOP"),
        "tflop_pass": Metric(found.plain / 1e12, n=1, unit="TFLOP"),
        "tflop_pass_told": Metric(found.told / 1e12, n=1, unit="TFLOP"),
    }
    for name, mode in MODES.items():
        metrics[f"passes_published_{name}"] = Metric(sum(mode.passes(config.published_steps)), n=1, unit="passes")
        total = found.of(mode, config.published_steps) / 1e12
        metrics[f"tflop_published_{name}"] = Metric(total, n=1, unit="TFLOP")
        print(
            f"{name:12} {sum(mode.passes(config.published_steps)):3} passes, {total:8.1f} TFLOP at the published size"
        )
    for name, mode in () if config.checkpoint is None else MODES.items():
        chunk = Chunk(
            *(config.checkpoint or "", config.start, config.chunk),
            *(config.sampler_steps, config.repeats, config.threads),
        )
        cost = measure(chunk, mode)
        metrics[f"passes_{name}"] = Metric(cost.passes, n=config.repeats, unit="passes")
        metrics[f"seconds_{name}"] = Metric(cost.median, min(cost.seconds), max(cost.seconds), config.repeats, "s")
        metrics[f"memory_{name}"] = Metric(cost.peak / 1e6, n=1, unit="MB")
        print(f"{name:12} {cost.passes:3} passes, {cost.median:7.3f} s, {cost.peak / 1e6:6.0f} MB")
    if config.json is not None:
        provenance = plain_provenance(
            [0],
            precision=Runtime.choose("cpu").precision,
            checkpoint=found_hash,
            sampler_steps=None if found_hash is None else config.sampler_steps,
        )
        write_results(config.json, metrics=metrics, **provenance)
