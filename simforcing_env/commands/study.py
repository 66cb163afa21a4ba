"""Train every model form for the same processor time on the same data and print one table.

A killed study goes on with the same command. Scores are open-loop rollouts of held-out clips, with 1, 2, 4 and 8
Euler steps; intervals are over episodes.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from simforcing_env.commands.checks import above, at_least, results_file, some
from simforcing_env.commands.study_options import trained_precision

_DEFAULT = tuple(f"pusht-form-{letter}" for letter in ("a", "b", "c", "d", "e", "e-v", "e-regression"))


@dataclass(frozen=True)
class Config:
    """Options of ``simforcing study``."""

    dataset: Path
    """LeRobot v3.0 folder with the training split."""
    held_out: Path
    """Folder with the validation split."""
    out: Path
    """Folder for the runs."""
    forms: tuple[str, ...] = _DEFAULT
    """Recipes to compare."""
    cpu_minutes: float = 8.0
    """Processor time of each training."""
    clips: int = 96
    """Held-out clips to score on."""
    set: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = ()
    """Override of every recipe, e.g. ``--set train.seed=1``."""
    json: Path | None = None
    """Results file; a table as CSV goes beside it."""
    threads: int = 1
    """CPU threads."""


def run(config: Config) -> None:
    """Train, score, print, write."""
    import numpy as np
    import torch

    from simforcing_env.evaluation.reporting import plain_provenance
    from simforcing_env.evaluation.tables import write_csv
    from world_model.results import Metric, write_results
    from world_model.training.recipes import recipe
    from world_model.training.study import FORMS, study

    at_least(1, threads=config.threads, clips=config.clips)
    above(0, cpu_minutes=config.cpu_minutes)
    some(forms=config.forms)
    results_file(config.json)
    for form in config.forms:
        recipe(form, config.set)
    torch.set_num_threads(config.threads)
    scores, sizes, trainer = study(
        config.forms, config.dataset, config.held_out, config.out, config.cpu_minutes, config.clips, config.set
    )
    generator = np.random.default_rng(0)
    metrics, rows = {}, []
    for score in scores:
        row = {"form": FORMS.get(score.form, score.form), "steps": score.steps, "parameters": sizes[score.form]}
        values = {f"psnr_{k}": v for k, v in score.psnr.items()} | {"shuffle_gap": score.shuffle_gap}
        for name, value in values.items():
            metric = Metric.mean(value, generator, "dB")
            metrics[f"{score.form.removeprefix('pusht-')}.steps_{score.steps}.{name}"] = metric
            row[name] = round(metric.value, 2)
        rows.append(row)
    for k, v in scores[0].copy.items():
        metrics[f"copy.psnr_{k}"] = Metric.mean(v, generator, "dB")
    print(*rows, sep="\n")
    if config.json is None:
        return
    told = plain_provenance([trainer.config.seed], trainer.contract.hash, precision=trained_precision(config.set))
    write_results(config.json, metrics=metrics, **told)  # the sampler's steps are in the names of the metrics
    write_csv(config.json.with_suffix(".csv"), list(rows[0]), [list(row.values()) for row in rows])
