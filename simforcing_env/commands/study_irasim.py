"""Train IRASim with Frame-Ada and Video-Ada, LVDM and VDM at one size for the same processor time, with several seeds,
and print whether the published order holds.

Scores are of held-out clips from their first frame: colour PSNR and latent L2, means over frames, clips and seeds.
Intervals are over episodes; that of several seeds is the mean of theirs, as if they erred together (never too narrow),
and each seed is given beside. _shuffle_gap is the PSNR lost with other clips' actions.
A killed study goes on with the same command; parts of it (--models) can be trained side by side in the same --out, and
the whole command then only reads them. Seeds of other machines join by their results files (--merge). Beside the
results file stand a table and a picture of some clips.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from simforcing_env.commands.checks import at_least, some
from simforcing_env.commands.study_options import TimedStudyOptions

if TYPE_CHECKING:
    from world_model.results import Metric
    from world_model.training.irasim_study import Scores

UNITS = {"psnr": "dB", "latent_l2": "", "shuffle_gap": "dB"}
SIGNS = {"psnr": 1, "latent_l2": -1}
"""Whether more is better."""
HEADING = (
    "model",
    "million parameters",
    "training steps of each seed",
    "PSNR, dB",
    "95 %",
    "of each seed",
    "latent L2",
    "95 %",
    "of each seed",
    "PSNR lost with other actions, dB",
)


@dataclass(frozen=True, kw_only=True)
class Config(TimedStudyOptions):
    """Options of ``simforcing study irasim``."""

    dataset: Path
    """LeRobot v3.0 folder with the training split of Push-T."""
    models: tuple[str, ...] = ("frame_ada", "video_ada", "lvdm", "vdm")
    """Which of them."""
    clips: int = 64
    """Held-out clips to score on."""
    merge: tuple[Path, ...] = ()
    """Results files of this command with other seeds and the same settings, data and models."""


def run(config: Config) -> None:
    """Train, score, print, write."""
    from simforcing_env.evaluation.irasim_seeds import earlier_seeds, over_seeds, refuse_known, seeds_of, with_seed
    from simforcing_env.evaluation.tables import write_csv
    from world_model.results import Metric, read_results
    from world_model.rules import refuse_unknown
    from world_model.training.irasim_study import STUDY, trained_scores
    from world_model.training.recipes import recipe

    at_least(1, clips=config.clips)
    some(models=config.models)
    refuse_unknown(config.models, STUDY, "model")
    config.begin()
    plans = {model: recipe(STUDY[model], config.set) for model in config.models}
    settings = {
        "minutes": config.cpu_minutes,
        "clips": config.clips,
        "sampler": {model: plan.sampler for model, plan in plans.items()},
        "batch": {model: plan.train.batch for model, plan in plans.items()},
    }
    earlier = {file: read_results(file) for file in config.merge}
    metrics = earlier_seeds(earlier, config.models, settings)
    refuse_known(metrics, [f"{model}_psnr_seed_{seed}" for model in config.models for seed in config.seeds], "--seeds")
    shown: dict[str, Scores] = {}
    for model in config.models:
        for seed in config.seeds:
            one = trained_scores(
                model, seed, config.dataset, config.held_out, config.out, config.cpu_minutes, config.clips, config.set
            )
            shown.setdefault(model, one)
            metrics = with_seed(metrics, _of_one_seed(model, seed, one), f"{model} of seed {seed}")
    seeds = seeds_of(metrics, config.models)
    for model in config.models:
        metrics |= {f"{model}_{name}": over_seeds(metrics, f"{model}_{name}", seeds) for name in UNITS}
        line = (metrics[f"{model}_{name}"].value for name in ("psnr", "latent_l2", "shuffle_gap", "parameters"))
        print("{:10} {:6.2f} dB {:8.4f} latent L2 {:6.2f} dB by actions {:6.2f} M".format(model, *line))
    metrics["minutes"] = Metric(config.cpu_minutes, n=len(seeds) * len(config.models), unit="minutes")
    order = {n: sorted(shown, key=lambda m: -sign * metrics[f"{m}_{n}"].value) for n, sign in SIGNS.items()}
    for name, ranked in order.items():
        print(f"best to worst by {name}: {', '.join(ranked)}")
    steps = {plan.sampler["steps"] for plan in plans.values()}
    contract = next(iter(shown.values())).contract
    config.finish(
        metrics,
        contract,
        steps.pop() if len(steps) == 1 else None,
        seeds,
        **settings,
        best_to_worst=order,
        merged=[{name: one[name] for name in ("seeds", "device", "command")} for one in earlier.values()],
    )
    if config.json is not None:
        write_csv(config.json.with_suffix(".csv"), HEADING, _rows(config.models, seeds, metrics))
        _draw(config.json.parent / "media" / f"{config.json.stem}.png", shown)


def _of_one_seed(model: str, seed: int, scores: Scores) -> dict[str, Metric]:
    """Metrics of one training, and those that all seeds share."""
    import numpy as np

    from world_model.results import Metric

    generator = np.random.default_rng(0)
    copies = {f"copy_{n}": Metric.mean(scores.values[f"{n}_copy"], generator, UNITS[n]) for n in SIGNS}
    values = {f"{model}_{n}_seed_{seed}": Metric.mean(scores.values[n], generator, unit) for n, unit in UNITS.items()}
    steps = Metric(scores.steps, n=1, unit="steps")
    parameters = Metric(scores.parameters / 1e6, n=1, unit="million")
    return {**copies, **values, f"{model}_steps_seed_{seed}": steps, f"{model}_parameters": parameters}


def _rows(models: Sequence[str], seeds: Sequence[int], metrics: Mapping[str, Metric]) -> list[list[object]]:
    """A line for each model, and one for copying the known frame."""
    rows: list[list[object]] = []
    for model in models:
        steps = ", ".join(f"{metrics[f'{model}_steps_seed_{seed}'].value:.0f}" for seed in seeds)
        row: list[object] = [model, f"{metrics[f'{model}_parameters'].value:.2f}", steps]
        for name, digits in (("psnr", 2), ("latent_l2", 4)):
            each = ", ".join(f"{metrics[f'{model}_{name}_seed_{seed}'].value:.{digits}f}" for seed in seeds)
            row += [*_interval(metrics[f"{model}_{name}"], digits), each]
        rows.append([*row, f"{metrics[f'{model}_shuffle_gap'].value:.2f}"])
    psnr, latent_l2 = _interval(metrics["copy_psnr"], 2), _interval(metrics["copy_latent_l2"], 4)
    return [*rows, ["copying the known frame", "", "", *psnr, "", *latent_l2, "", ""]]


def _interval(metric: Metric, digits: int) -> tuple[str, str]:
    low, high = (metric.value if x is None else x for x in (metric.low, metric.high))
    return f"{metric.value:.{digits}f}", f"{low:.{digits}f} to {high:.{digits}f}"


def _draw(path: Path, shown: Mapping[str, Scores]) -> None:
    """Some clips of the first seed trained here: the truth, then a row for each model."""
    from simforcing_env.evaluation.pictures import models_grid
    from simforcing_env.pictures import write_png

    true = next(iter(shown.values())).true
    write_png(path, models_grid(true, {model: scores.made for model, scores in shown.items()}))
    print(f"written: {path}")
