"""Train IRASim with Frame-Ada and Video-Ada, LVDM and VDM at one size for the same processor time, with several seeds,
and print whether the published order holds.

Scores are of held-out clips from their first frame: colour PSNR and latent L2, means over frames, clips and seeds;
intervals are over episodes, and each seed is given beside. A killed study goes on with the same command.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from simforcing_env.commands.checks import above, at_least, results_file, some


@dataclass(frozen=True)
class Config:
    """Options of ``simforcing study irasim``."""

    dataset: Path
    """LeRobot v3.0 folder with the training split of Push-T."""
    held_out: Path
    """Folder with the validation split."""
    out: Path
    """Folder for the runs."""
    models: tuple[str, ...] = ("frame_ada", "video_ada", "lvdm", "vdm")
    """Which of them."""
    seeds: tuple[int, ...] = (0, 1, 2)
    """Of first weights, data order and noise."""
    cpu_minutes: float = 20.0
    """Processor time of each training."""
    clips: int = 64
    """Held-out clips to score on."""
    set: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = ()
    """Override of every recipe, e.g. ``--set train.batch=4``."""
    json: Path | None = None
    """Results file."""
    threads: int = 1
    """CPU threads."""


def run(config: Config) -> None:
    """Train, score, print, write."""
    import numpy as np
    import torch

    from simforcing_env.evaluation.reporting import plain_provenance
    from world_model.errors import InputError
    from world_model.results import Metric, write_results
    from world_model.training.irasim_study import STUDY, trained_scores

    at_least(1, threads=config.threads, clips=config.clips)
    at_least(0, seeds=config.seeds)
    above(0, cpu_minutes=config.cpu_minutes)
    some(models=config.models, seeds=config.seeds)
    results_file(config.json)
    for model in config.models:
        if model not in STUDY:
            raise InputError(f"--models holds {model!r} but the models are {', '.join(STUDY)}")
    torch.set_num_threads(config.threads)
    generator, metrics, contract = np.random.default_rng(0), {}, None
    for model in config.models:
        scores = []
        for seed in config.seeds:
            found = trained_scores(
                model, seed, config.dataset, config.held_out, config.out, config.cpu_minutes, config.clips, config.set
            )
            scores.append(found)
            contract = found.contract
            for name, unit in (("psnr", "dB"), ("latent_l2", "")):
                metrics[f"{model}_{name}_seed_{seed}"] = Metric.mean(found.values[name], generator, unit)
            metrics[f"{model}_steps_seed_{seed}"] = Metric(found.steps, n=1, unit="steps")
        for name, unit in (("psnr", "dB"), ("latent_l2", "")):
            metrics[f"{model}_{name}"] = Metric.mean(np.mean([s.values[name] for s in scores], axis=0), generator, unit)
            metrics[f"copy_{name}"] = Metric.mean(scores[0].values[f"{name}_copy"], generator, unit)
        metrics[f"{model}_parameters"] = Metric(scores[0].parameters / 1e6, n=1, unit="million")
        line = (metrics[f"{model}_{name}"].value for name in ("psnr", "latent_l2", "parameters"))
        print("{:10} {:6.2f} dB {:8.4f} latent L2 {:6.2f} M".format(model, *line))
    for name, sign in (("psnr", 1), ("latent_l2", -1)):
        order = sorted(config.models, key=lambda m: -sign * metrics[f"{m}_{name}"].value)
        print(f"best to worst by {name}: {', '.join(order)}")
    if config.json is not None:
        write_results(
            config.json, metrics=metrics, **plain_provenance(list(config.seeds), contract, precision="bfloat16")
        )
