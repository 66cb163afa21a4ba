"""Kill recording and training at random moments and see that nothing is lost.

A small Push-T data set is recorded and a small net trained on it, each once left alone and once killed with SIGKILL
again and again and started anew. Moments are drawn from the start of a process to some way beyond its next piece of
work, so that they fall into starting, working, writing and renaming alike; a kill counts when the process was alive.
Lost is what was safe at a kill (frames in the data set, steps in the checkpoint) and no longer after it. In the end the
data set must be the same in every byte, and weights, moving average and optimiser in every bit. Exit status 1 says that
something was lost or differs.
"""

from __future__ import annotations

import random
import tempfile
from dataclasses import dataclass
from pathlib import Path

from simforcing_env.commands.checks import at_least, extras, results_file


@dataclass(frozen=True)
class Config:
    """Options of ``simforcing bench kill``."""

    json: Path | None = None
    """Results file."""
    kills: int = 20
    """Kills of each of the two that must meet a living process."""
    frames: int = 3000
    """Frames of the data set, in files of two episodes."""
    steps: int = 60
    """Steps of the training; each writes a checkpoint."""
    seed: int = 0
    """Of the moments, the data and the training."""


def run(config: Config) -> None:
    """Record and train, killed and not, compare, print, write."""
    from simforcing_env.evaluation.kills import killed, recording, training
    from simforcing_env.evaluation.reporting import teacher_provenance
    from teachers.pusht.contract import pusht_contract
    from world_model.results import write_results

    at_least(1, kills=config.kills, frames=config.frames, steps=config.steps)
    at_least(0, seed=config.seed)
    results_file(config.json)
    extras("pusht", "train")
    moments = random.Random(config.seed)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        metrics = killed(recording(config.frames, config.seed), folder / "data", config.kills, moments)
        data = folder / "data" / "whole"
        metrics |= killed(training(data, config.steps, config.seed), folder / "run", config.kills, moments)
    for name, metric in metrics.items():
        print(f"{name:14} {metric.value:6g} {metric.unit:7} n {metric.n}")
    if config.json is not None:
        write_results(config.json, metrics=metrics, **teacher_provenance(pusht_contract(), [config.seed]))
    if any(m.value != (1 if name.endswith("equal") else 0) for name, m in metrics.items() if "kills" not in name):
        raise SystemExit(1)
