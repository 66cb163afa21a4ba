"""How well a learned simulator ranks candidate plans: the values it predicts against those in the true simulator.

Moments come from episodes of the policy in the true simulator. For each the policy proposes K chunks; their ends are
imagined, and carried out in copies of the true simulator. Printed and written: correlation over candidates, regret of
the one that would be chosen (beside that of a blind choice), and what common random numbers do to the variance of
differences.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from simforcing_env.commands.checks import at_least, results_file


@dataclass(frozen=True)
class Config:
    """Options of ``simforcing plan ranking``."""

    policy: Path
    """Folder of a diffusion policy."""
    checkpoint: str = "pusht-nano"
    """Folder, packaged name or hub id of the learned simulator."""
    value: Literal["points", "coverage", "iou", "success"] = "iou"
    """What is compared; "points" is minus a distance in px."""
    k: int = 16
    """Candidates of a moment."""
    length: int = 16
    """Actions of a candidate."""
    episodes: int = 10
    """Episodes, from the first start of the split on."""
    moments: int = 4
    """Moments of each episode."""
    every: int = 3
    """Plans between two moments."""
    repeats: int = 4
    """Noises under which predictions are made again."""
    execute: int = 8
    """Actions that the policy carries out before it is asked again."""
    split: Literal["validation", "test"] = "validation"
    """Starts."""
    seed: int = 0
    """Of the policy's and the imagined noise."""
    json: Path | None = None
    """Results file; a table of all candidates as CSV goes beside it."""
    threads: int = 1
    """CPU threads."""


def run(config: Config) -> None:
    """Roll, rank, print, write."""
    import numpy as np
    import torch

    from simforcing_env.evaluation.loading import open_simulator
    from simforcing_env.evaluation.progress import counting
    from simforcing_env.evaluation.reporting import plain_provenance, report
    from simforcing_env.planning.model_world import imagination
    from simforcing_env.planning.ranking import joined, rank_moments
    from simforcing_env.planning.trials import seed_of
    from simforcing_env.planning.values import make_value
    from simforcing_env.policies.diffusion import load_diffusion
    from simforcing_env.teacher_env import TeacherVectorEnv
    from world_model.results import Metric

    at_least(2, k=config.k, repeats=config.repeats)
    at_least(1, length=config.length, episodes=config.episodes, moments=config.moments, every=config.every)
    at_least(1, execute=config.execute, threads=config.threads)
    at_least(0, seed=config.seed)
    results_file(config.json)
    torch.set_num_threads(config.threads)
    policy, simulator = load_diffusion(config.policy), open_simulator(config.checkpoint)
    simulator.contract.require_same(policy.contract, "the checkpoint", "the policy")
    imagine, value = imagination(simulator, pictures=True), make_value(config.value)
    first = {"validation": 800_000, "test": 900_000}[config.split]
    names = [f"seed-{first + number}" for number in range(config.episodes)]
    seeds = [seed_of(config.seed, name) for name in names]
    env = TeacherVectorEnv(
        len(names), teacher="pusht", chunk=config.execute, frames_in_info=False, success_threshold=1.0
    )
    observation, _ = env.reset(seed=seeds, options={"start": names})
    policy.reset(seeds)
    parts = []
    with counting("ranking moments", config.moments) as step:
        for number in range(config.moments):
            for _ in range(config.every):
                observation, *_ = env.step(policy.act(observation)[:, : config.execute])
            sizes = config.k, config.length, config.repeats
            noise = [seed + 1000 * number for seed in seeds]
            parts.append(rank_moments(env, policy, imagine, value, observation, noise, *sizes))
            step(number + 1)
    ranking, generator = joined(parts), np.random.default_rng(config.seed)
    unit = "px" if config.value == "points" else "share"
    metrics = {
        "pearson": Metric.mean(ranking.pearson, generator),
        "pearson_all": Metric(float(np.corrcoef(ranking.predicted.ravel(), ranking.true.ravel())[0, 1])),
        "regret": Metric.mean(ranking.regret, generator, unit),
        "regret_blind": Metric.mean(ranking.chance_regret, generator, unit),
        "crn_variance_ratio": Metric(ranking.variance_ratio(), n=len(ranking.true)),
    }
    rows = [
        [moment, candidate, f"{p:.4f}", f"{t:.4f}"]
        for moment, pair in enumerate(zip(ranking.predicted, ranking.true, strict=True))
        for candidate, (p, t) in enumerate(zip(*pair, strict=True))
    ]
    told = plain_provenance(
        [config.seed, config.split],
        simulator.contract.hash,
        checkpoint=simulator.hash,
        sampler_steps=simulator.sampler.steps,
    )
    report(config.json, metrics, told, ["moment", "candidate", "predicted", "true"], rows)
