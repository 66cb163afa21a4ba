"""Fit every codec on training frames and hold them against each other on held-out frames.

Beside the results file stand the same table as CSV and as Markdown. Times are per frame, at one frame a call
and at 50. A codec is marked best when no other with the same latent grid is at least as good in quality, channels and
decoding time (to 0.1 ms); codecs of different grids ask for different world models.
"""

from __future__ import annotations

import csv
import io
import math
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from simforcing_env.commands.checks import above, at_least, results_file
from world_model.atomic import replace_text
from world_model.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from torch import Tensor

    from world_model.codecs.candidates import Candidate
    from world_model.data.lerobot.reader import LeRobotDataset
    from world_model.results import Metric

_MANY = 50  # frames of the large call, as many as a planner's branches
_PER_EPISODE = 20

HEADING = (
    "codec",
    "latents",
    "PSNR, dB",
    "worst 1 %, dB",
    "largest error, of 255",
    "encode 1, ms",
    "encode 50, ms",
    "decode 1, ms",
    "decode 50, ms",
    "stored numbers",
    "fit, s",
    "best of its grid",
)


@dataclass(frozen=True)
class Config:
    """Options of ``simforcing bench codec``."""

    dataset: Path
    """LeRobot v3.0 folder to fit on."""
    held_out: Path | None = None
    """Folder with the validation split, on which quality is measured; without it, the last tenth of ``dataset``."""
    json: Path | None = None
    """Results file; the table stands beside it as .csv and .md."""
    minutes: float = 5.0
    """Training time of each learned codec."""
    taef2: Path = Path("../shared/data/weights/taef2")
    """Folder of TAEF2's two weight files; the codec is left out where they are absent."""
    only: tuple[str, ...] = ()
    """Names of the codecs to measure; all of them when empty."""
    fit_frames: int = 8000
    """Training frames, spread evenly over the episodes."""
    frames: int = 2000
    """Held-out frames, spread evenly over the episodes."""
    threads: int = 2
    """CPU threads of fitting and of the timed calls."""
    timing: float = 0.5
    """Seconds of each timing; its median counts."""
    seed: int = 0
    """Of the choice of frames and of training."""


@dataclass(frozen=True)
class _Row:
    name: str
    grid: tuple[int, ...]
    cells: dict[str, str]
    costs: tuple[float, float, float]
    metrics: dict[str, Metric]


def run(config: Config) -> None:
    """Print the table and write the files.

    Raises:
        InputError: ``only`` names an unknown codec.
        DataError: a data set is damaged, or the two have different contracts.
    """
    import numpy as np
    import torch

    from simforcing_env.evaluation.reporting import plain_provenance
    from world_model.codecs.candidates import candidates, has_taef2
    from world_model.codecs.measure import pareto
    from world_model.data.lerobot.reader import read_dataset
    from world_model.results import write_results

    at_least(1, threads=config.threads, fit_frames=config.fit_frames, frames=config.frames)
    at_least(0, seed=config.seed)
    above(0, minutes=config.minutes, timing=config.timing)
    results_file(config.json)
    torch.set_num_threads(config.threads)
    listed = candidates(config.minutes, config.seed, config.taef2 if has_taef2(config.taef2) else None)
    unknown = set(config.only) - {c.name for c in listed}
    if unknown:
        raise InputError(f"there is no codec {min(unknown)!r}; choose from {', '.join(c.name for c in listed)}")
    train = read_dataset(config.dataset)
    held = train if config.held_out is None else read_dataset(config.held_out, train.contract)
    first = _split(len(train)) if config.held_out is None else 0
    generator = np.random.default_rng(config.seed)
    fit_frames, _ = _frames(train, range(first or len(train)), config.fit_frames, generator)
    frames, episodes = _frames(held, range(first, len(held)), config.frames, generator)
    print(f"fitting on {len(fit_frames)} frames, measuring on {len(frames)} of {len(np.unique(episodes))} episodes")
    chosen = [c for c in listed if not config.only or c.name in config.only]
    rows = [_measure(candidate, fit_frames, frames, episodes, config.timing, generator) for candidate in chosen]
    for grid in {row.grid for row in rows}:
        same = [row for row in rows if row.grid == grid]
        for row, best in zip(same, pareto([r.costs for r in same]), strict=True):
            row.cells["best of its grid"] = "yes" if best else ""
    table = _markdown(rows)
    print(f"\n{table}", end="")
    if config.json is not None:
        metrics = {f"{row.name}.{name}": metric for row in rows for name, metric in row.metrics.items()}
        write_results(config.json, metrics=metrics, **plain_provenance([config.seed], train.contract.hash))
        replace_text(config.json.with_suffix(".csv"), _csv(rows))
        replace_text(config.json.with_suffix(".md"), table)


def _split(episodes: int) -> int:
    """First episode of the last tenth."""
    if episodes < 2:
        raise InputError(f"the data set holds {episodes} episode; give --held-out or record at least 2")
    return episodes - max(1, episodes // 10)


def _frames(
    dataset: LeRobotDataset, numbers: range, count: int, generator: np.random.Generator
) -> tuple[Tensor, NDArray[np.int64]]:
    """About ``count`` frames ``(N, H, W, 3)``, equally many of each episode, and the episode of each ``(N,)``."""
    import numpy as np
    import torch

    from simforcing_env.evaluation.progress import counting

    each = max(_PER_EPISODE, -(-count // len(numbers)))
    chosen = np.unique(np.linspace(numbers[0], numbers[-1], max(1, count // each)).round().astype(np.int64))
    parts: list[Tensor] = []
    owners: list[int] = []
    with counting("reading episodes", len(chosen)) as report:
        for done, number in enumerate(chosen.tolist(), start=1):
            frames = dataset.frames(number)
            rows = np.sort(generator.choice(len(frames), min(each, len(frames)), replace=False))
            parts.append(torch.from_numpy(frames[rows]))
            owners += [number] * len(rows)
            report(done)
    return torch.cat(parts), np.array(owners, np.int64)


def _measure(
    candidate: Candidate,
    fit_frames: Tensor,
    frames: Tensor,
    episodes: NDArray[np.int64],
    timing: float,
    generator: np.random.Generator,
) -> _Row:
    import numpy as np

    from simforcing_env.evaluation.progress import spending
    from world_model.codecs.measure import parameters, quality, speed
    from world_model.results import Metric

    start = time.perf_counter()
    if candidate.learned:
        with spending(candidate.name) as report:
            codec = candidate.fit(fit_frames, report)
    else:
        print(candidate.name, flush=True)
        codec = candidate.fit(fit_frames, lambda part, loss: None)
    seconds = time.perf_counter() - start
    found = quality(codec, frames)
    one, many = (speed(codec, frames[:count], timing) for count in (1, _MANY))
    size, shape = parameters(codec), tuple(codec.encode(frames[0]).shape)
    of_episode = [found.psnr[episodes == number].mean() for number in np.unique(episodes)]
    count = len(frames)
    metrics = {
        "psnr": Metric.mean(of_episode, generator, "dB"),
        "psnr_worst": Metric(found.worst, n=count, unit="dB"),
        "largest_error": Metric(found.largest_error, n=count, unit="grey levels"),
        "encode_b1_ms": Metric(one.encode, unit="ms"),
        "encode_b50_ms": Metric(many.encode, unit="ms"),
        "decode_b1_ms": Metric(one.decode, unit="ms"),
        "decode_b50_ms": Metric(many.decode, unit="ms"),
        "parameters": Metric(size),
        "latent_numbers": Metric(math.prod(shape)),
        "fit_s": Metric(seconds, unit="s"),
    }
    exact = found.largest_error == 0
    values = (
        candidate.name,
        " x ".join(map(str, shape)),
        "exact" if exact else f"{metrics['psnr'].value:.1f}",
        "exact" if exact else f"{found.worst:.1f}",
        str(found.largest_error),
        *(f"{ms:.3f}" for ms in (one.encode, many.encode, one.decode, many.decode)),
        f"{size:,}",
        f"{seconds:.0f}",
    )
    cells = dict(zip(HEADING, values, strict=False))
    costs = (-metrics["psnr"].value, shape[0], round(many.decode, 1))
    return _Row(candidate.name, shape[1:], cells, costs, metrics)


def _csv(rows: list[_Row]) -> str:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows([HEADING, *([row.cells[h] for h in HEADING] for row in rows)])
    return text.getvalue()


def _markdown(rows: list[_Row]) -> str:
    lines = [HEADING, ("---", *["---:"] * (len(HEADING) - 1)), *(tuple(r.cells[h] for h in HEADING) for r in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
