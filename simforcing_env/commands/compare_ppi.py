"""How much a few true episodes gain from many imagined ones (prediction-powered correction), by simulation.

The outcomes of a comparison's policies stand for whole worlds. From each, --true true and --imagined imagined episodes
are drawn --repeats times; width_ratio is the mean width of the corrected interval over that of the true episodes alone,
coverage how often it holds the truth. The same follows for made-up worlds of known kappa. A table beside the results
holds each policy's corrected score from its first --first true episodes.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from simforcing_env.commands.checks import at_least, results_file


@dataclass(frozen=True)
class Config:
    """Options of ``simforcing compare ppi``."""

    comparison: Path = Path("results/compare-pusht.json")
    """Results file of ``simforcing compare`` with its ledger and protocol beside it."""
    true: int = 100
    """True episodes of a draw."""
    imagined: int = 2000
    """Imagined episodes of a draw."""
    first: int = 10
    """True episodes of each policy that the table uses."""
    repeats: int = 1000
    """Draws."""
    seed: int = 0
    """Of the draws."""
    json: Path = Path("results/ppi.json")
    """Results; a CSV with a line per policy goes beside it."""


def run(config: Config) -> None:
    """Draw, print, write."""
    import numpy as np

    from simforcing_env.evaluation.comparison.correction import correction_metrics, correction_rows
    from simforcing_env.evaluation.comparison.outcome import read_outcomes
    from simforcing_env.evaluation.comparison.protocol import read_protocol
    from simforcing_env.evaluation.reporting import print_metrics
    from simforcing_env.evaluation.tables import write_csv
    from world_model.results import describe_device, this_command, write_results

    at_least(2, true=config.true, imagined=config.imagined, first=config.first)
    at_least(1, repeats=config.repeats)
    at_least(0, seed=config.seed)
    results_file(config.json)
    protocol = read_protocol(config.comparison.with_suffix(".protocol.json"))
    outcomes = read_outcomes(config.comparison.with_suffix(".ledger.jsonl"), protocol.hash)
    generator = np.random.default_rng(config.seed)
    metrics = correction_metrics(outcomes, config.true, config.imagined, config.repeats, generator)
    print_metrics(metrics)
    write_csv(config.json.with_name(f"{config.json.stem}-policies.csv"), *correction_rows(outcomes, config.first))
    write_results(
        config.json,
        command=this_command(),
        checkpoint=protocol.checkpoint,
        contract=protocol.contract,
        device=describe_device(),
        sampler_steps=protocol.sampler_steps,
        seeds=[config.seed],
        metrics=metrics,
    )
