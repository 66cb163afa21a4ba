"""LIBERO's fast look against the stock one: time of drawing, and how far the pictures lie apart.

Both looks play the same seeded actions from the same test states; at every frame each draws all cameras, and its time
is the median over the frames of a start.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from simforcing_env.commands.checks import at_least, results_file

if TYPE_CHECKING:
    import numpy as np

    from teachers.libero.teacher import LiberoTeacher
    from world_model.results import Metric


@dataclass(frozen=True)
class Config:
    """Options of ``simforcing bench look``."""

    suites: tuple[str, ...] = ("libero_goal", "libero_object")
    """Suites whose tasks are drawn."""
    starts: int = 1
    """Test states of each task, from 40 on."""
    frames: int = 20
    """Frames of each start."""
    size: int = 128
    """Height and width of the frames in pixels."""
    json: Path | None = None
    """Results file."""
    seed: int = 0
    """Of the actions."""


@dataclass(frozen=True)
class Drawn:
    """One start in both looks."""

    stock_ms: float
    fast_ms: float
    psnr: float
    """dB, the mean over frames and cameras."""
    worst_psnr: float
    """dB, of the frame and camera that are farthest apart."""


def run(config: Config) -> None:
    """Print the times and distances and write the file.

    Raises:
        InputError: an unknown suite, or more starts than there are test states.
        NoRendererError: this machine cannot draw.
    """
    import numpy as np

    from simforcing_env.evaluation.reporting import plain_provenance, print_metrics
    from teachers.libero.suites import SPLITS, tasks
    from teachers.libero.teacher import LiberoConfig, LiberoTeacher
    from world_model.results import write_results
    from world_model.rules import Whole, settle

    at_least(1, frames=config.frames, size=config.size)
    at_least(0, seed=config.seed)
    settle(config, {"starts": Whole(1, len(SPLITS["test"]))})
    results_file(config.json)
    generator = np.random.default_rng(config.seed)
    metrics: dict[str, Metric] = {}
    for suite in config.suites:
        stock, fast = (LiberoTeacher(LiberoConfig(suite=suite, size=config.size, look=k)) for k in ("stock", "fast"))
        names = [f"{suite}/{t.index}/{i}" for t in tasks(suite) for i in SPLITS["test"][: config.starts]]
        drawn = [hold_against(stock, fast, start, config.frames, generator) for start in names]
        metrics |= {f"{name}_{suite}": metric for name, metric in _summary(drawn, generator).items()}
    print_metrics(metrics)
    if config.json is not None:
        write_results(config.json, metrics=metrics, **plain_provenance([config.seed]))


def hold_against(
    stock: LiberoTeacher, fast: LiberoTeacher, start: str, frames: int, generator: np.random.Generator
) -> Drawn:
    """Both teachers from ``start`` under the same actions, drawn after each frame."""
    import numpy as np

    from world_model.metrics.image import psnr

    low, high = stock.contract.action_bounds()
    for teacher in (stock, fast):
        teacher.reset(start, render=True)  # the first picture builds the renderer
    times: dict[str, list[float]] = {"stock": [], "fast": []}
    apart: list[float] = []
    for _ in range(frames):
        actions = generator.uniform(low, high, (stock.contract.actions_per_frame, len(low))).astype(np.float32)
        pictures = {}
        for name, teacher in (("stock", stock), ("fast", fast)):
            teacher.step(actions, render=False)
            begin = time.perf_counter()
            pictures[name] = teacher.render()
            times[name].append(1000 * (time.perf_counter() - begin))
        apart += [
            float(psnr(picture[None], pictures["fast"][camera][None])[0])
            for camera, picture in pictures["stock"].items()
        ]
    return Drawn(
        float(np.median(times["stock"])), float(np.median(times["fast"])), float(np.mean(apart)), float(min(apart))
    )


def _summary(drawn: list[Drawn], generator: np.random.Generator) -> dict[str, Metric]:
    from world_model.results import Metric

    return {
        "draw_stock_ms": Metric.mean([d.stock_ms for d in drawn], generator, "ms"),
        "draw_fast_ms": Metric.mean([d.fast_ms for d in drawn], generator, "ms"),
        "draw_ratio": Metric.mean([d.stock_ms / d.fast_ms for d in drawn], generator, "times"),
        "look_psnr": Metric.mean([d.psnr for d in drawn], generator, "dB"),
        "look_psnr_worst": Metric(min(d.worst_psnr for d in drawn), n=len(drawn), unit="dB"),
    }
