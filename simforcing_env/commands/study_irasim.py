"""Train IRASim with Frame-Ada and Video-Ada, LVDM and VDM at one size for the same processor time, with several seeds,
and print whether the published order holds.

Scores are of held-out clips from their first frame: colour PSNR and latent L2, means over frames, clips and seeds;
intervals are over episodes, and each seed is given beside. _shuffle_gap is the PSNR lost with other clips' actions.
A killed study goes on with the same command; parts of it (--models) can be trained side by side in the same --out, and
the whole command then only reads them. Beside the results file stand a table and a picture of some clips.
"""

from __future__ import annotations

from collections.abc import Mapping
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
    "training steps",
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


def run(config: Config) -> None:
    """Train, score, print, write."""
    import numpy as np

    from simforcing_env.evaluation.tables import write_csv
    from world_model.results import Metric
    from world_model.rules import refuse_unknown
    from world_model.training.irasim_study import STUDY, trained_scores
    from world_model.training.recipes import recipe

    at_least(1, clips=config.clips)
    some(models=config.models)
    refuse_unknown(config.models, STUDY, "model")
    config.begin()
    generator, metrics = np.random.default_rng(0), dict[str, Metric]()
    found: dict[str, list[Scores]] = {}
    for model in config.models:
        scores = [
            trained_scores(
                model, seed, config.dataset, config.held_out, config.out, config.cpu_minutes, config.clips, config.set
            )
            for seed in config.seeds
        ]
        found[model] = scores
        for name, unit in UNITS.items():
            for seed, one in zip(config.seeds, scores, strict=True):
                metrics[f"{model}_{name}_seed_{seed}"] = Metric.mean(one.values[name], generator, unit)
            metrics[f"{model}_{name}"] = Metric.mean(np.mean([s.values[name] for s in scores], axis=0), generator, unit)
        for seed, one in zip(config.seeds, scores, strict=True):
            metrics[f"{model}_steps_seed_{seed}"] = Metric(one.steps, n=1, unit="steps")
        for name in SIGNS:
            metrics[f"copy_{name}"] = Metric.mean(scores[0].values[f"{name}_copy"], generator, UNITS[name])
        metrics[f"{model}_parameters"] = Metric(scores[0].parameters / 1e6, n=1, unit="million")
        line = (metrics[f"{model}_{name}"].value for name in ("psnr", "latent_l2", "shuffle_gap", "parameters"))
        print("{:10} {:6.2f} dB {:8.4f} latent L2 {:6.2f} dB by actions {:6.2f} M".format(model, *line))
    metrics["minutes"] = Metric(config.cpu_minutes, n=len(config.seeds) * len(config.models), unit="minutes")
    order = {n: sorted(found, key=lambda m: -sign * metrics[f"{m}_{n}"].value) for n, sign in SIGNS.items()}
    for name, ranked in order.items():
        print(f"best to worst by {name}: {', '.join(ranked)}")
    plans = {model: recipe(STUDY[model], config.set) for model in config.models}
    steps = {plan.sampler["steps"] for plan in plans.values()}
    config.finish(
        metrics,
        next(iter(found.values()))[0].contract,
        steps.pop() if len(steps) == 1 else None,
        minutes=config.cpu_minutes,
        clips=config.clips,
        best_to_worst=order,
        sampler={model: plan.sampler for model, plan in plans.items()},
        batch={model: plan.train.batch for model, plan in plans.items()},
    )
    if config.json is not None:
        write_csv(config.json.with_suffix(".csv"), HEADING, _rows(found, metrics))
        _draw(config.json.parent / "media" / f"{config.json.stem}.png", found)


def _rows(found: Mapping[str, list[Scores]], metrics: Mapping[str, Metric]) -> list[list[object]]:
    """A line for each model, and one for copying the known frame."""
    rows: list[list[object]] = []
    for model, scores in found.items():
        steps = sum(one.steps for one in scores) / len(scores)
        row: list[object] = [model, f"{scores[0].parameters / 1e6:.2f}", f"{steps:.0f}"]
        for name, digits in (("psnr", 2), ("latent_l2", 4)):
            each = ", ".join(f"{one.values[name].mean():.{digits}f}" for one in scores)
            row += [*_interval(metrics[f"{model}_{name}"], digits), each]
        rows.append([*row, f"{metrics[f'{model}_shuffle_gap'].value:.2f}"])
    psnr, latent_l2 = _interval(metrics["copy_psnr"], 2), _interval(metrics["copy_latent_l2"], 4)
    return [*rows, ["copying the known frame", "", "", *psnr, "", *latent_l2, "", ""]]


def _interval(metric: Metric, digits: int) -> tuple[str, str]:
    low, high = (metric.value if x is None else x for x in (metric.low, metric.high))
    return f"{metric.value:.{digits}f}", f"{low:.{digits}f} to {high:.{digits}f}"


def _draw(path: Path, found: Mapping[str, list[Scores]]) -> None:
    """Some clips of the first seed: the truth, then a row for each model."""
    from simforcing_env.evaluation.pictures import models_grid
    from simforcing_env.pictures import write_png

    true = next(iter(found.values()))[0].true
    write_png(path, models_grid(true, {model: scores[0].made for model, scores in found.items()}))
    print(f"written: {path}")
