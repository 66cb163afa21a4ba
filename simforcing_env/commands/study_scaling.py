"""IRASim with Frame-Ada in four small sizes, each scored after an eighth, a quarter, half and all of its steps: does
latent L2 fall with the training compute?

Scores are as of `study irasim`. Compute is the floating point operations of matrix products and convolutions in
training. A killed study goes on with the same command; parts of it (--sizes) can be trained side by side in the same
--out, and the whole command then only reads them. Beside the results file stand a table and a plot.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from simforcing_env.commands.checks import at_least, some
from simforcing_env.commands.study_options import StudyOptions

if TYPE_CHECKING:
    from world_model.results import Metric
    from world_model.training.irasim_scaling import Point

HEADING = ("size", "million parameters", "steps", "PFLOP", "latent L2", "low", "high", "PSNR, dB")
Curve = list[tuple[float, "Metric"]]
"""PFLOP and latent L2."""


@dataclass(frozen=True, kw_only=True)
class Config(StudyOptions):
    """Options of ``simforcing study scaling``."""

    dataset: Path
    """LeRobot v3.0 folder with the training split of Push-T."""
    held_out: Path
    """Folder with the validation split."""
    sizes: tuple[str, ...] = ("xs", "s", "m", "l")
    """Which of them."""
    seeds: tuple[int, ...] = (0,)
    """Of first weights, data order and noise: one training of each size for each."""
    steps: int = 1600
    """Training steps of each."""
    clips: int = 64
    """Held-out clips to score on."""


def run(config: Config) -> None:
    """Train, score, print, write."""
    import numpy as np

    from simforcing_env.evaluation.tables import write_csv
    from world_model.results import Metric
    from world_model.rules import refuse_unknown
    from world_model.training.irasim_scaling import NANO_SIZES, scaling_points
    from world_model.training.irasim_study import STUDY
    from world_model.training.recipes import recipe

    at_least(1, clips=config.clips, steps=config.steps)
    some(sizes=config.sizes)
    refuse_unknown(config.sizes, NANO_SIZES, "size")
    config.begin()
    generator = np.random.default_rng(0)
    metrics: dict[str, Metric] = {}
    rows: list[list[object]] = []
    curves: dict[str, Curve] = {}
    contract = None
    for size in config.sizes:
        runs = [
            scaling_points(
                size, seed, config.dataset, config.held_out, config.out, config.steps, config.clips, config.set
            )
            for seed in config.seeds
        ]
        million = runs[0][0].scores.parameters / 1e6
        metrics[f"{size}_parameters"] = Metric(million, n=1, unit="million")
        curves[size] = []
        for points in zip(*runs, strict=True):
            first: Point = points[0]
            contract = first.scores.contract
            names = {"latent_l2": "", "psnr": "dB"}
            means = {
                name: Metric.mean(np.mean([p.scores.values[name] for p in points], axis=0), generator, unit)
                for name, unit in names.items()
            }
            last = first.steps == config.steps
            metrics |= {f"{size}_{n}" + ("" if last else f"_{first.steps}_steps"): m for n, m in means.items()}
            l2, flop = means["latent_l2"], first.flop / 1e15
            curves[size].append((flop, l2))
            numbers = (f"{x:.4f}" for x in (l2.value, l2.low or 0.0, l2.high or 0.0))
            rows.append([size, f"{million:.2f}", first.steps, f"{flop:.3f}", *numbers, f"{means['psnr'].value:.2f}"])
            print("{:3} {:>5} M {:>6} steps {:>8} PFLOP  latent L2 {} ({} to {})  PSNR {} dB".format(*rows[-1]))
        metrics[f"{size}_pflop"] = Metric(curves[size][-1][0], n=1, unit="PFLOP")
        metrics["copy_latent_l2"] = Metric.mean(runs[0][0].scores.values["latent_l2_copy"], generator)
    plan = recipe(STUDY["frame_ada"], config.set)
    config.finish(
        metrics,
        contract,
        plan.sampler["steps"],
        steps=config.steps,
        clips=config.clips,
        sampler=plan.sampler,
        batch=plan.train.batch,
    )
    if config.json is not None:
        write_csv(config.json.with_suffix(".csv"), HEADING, rows)
        _plot(config.json.parent / "media" / f"{config.json.stem}.png", curves, metrics)


def _plot(path: Path, curves: Mapping[str, Curve], metrics: Mapping[str, Metric]) -> None:
    from simforcing_env.evaluation.plots import figure, save_figure

    drawn, (axes,) = figure(5.4, 3.6)
    for size, curve in curves.items():
        compute, values = [flop for flop, _ in curve], [l2.value for _, l2 in curve]
        low = [l2.value - (l2.value if l2.low is None else l2.low) for _, l2 in curve]
        high = [(l2.value if l2.high is None else l2.high) - l2.value for _, l2 in curve]
        label = f"{size}, {metrics[f'{size}_parameters'].value:.2f} M parameters"
        axes.errorbar(compute, values, (low, high), marker="o", markersize=3, capsize=2, linewidth=1, label=label)
    axes.axhline(metrics["copy_latent_l2"].value, color="0.6", linestyle="--", label="copying the known frame")
    axes.set(xscale="log", xlabel="training compute, PFLOP", ylabel="latent L2, held-out clips")
    axes.grid(alpha=0.3, which="both")
    axes.legend(fontsize=7)
    path.parent.mkdir(parents=True, exist_ok=True)
    save_figure(path, drawn)
    print(f"written: {path}")
