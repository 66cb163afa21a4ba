"""Replay whole held-out episodes in the learned simulator: do they succeed where they succeeded in truth?

Every episode begins at its true first frame, as after reset(), and goes on under its recorded actions to its end.
It succeeds when the head's probability passes the threshold at any frame. kappa is Cohen's: 0 is what chance agrees,
1 is always. The same is said with the heads on the true frames (_true_frames), which is their share of the error.
A table by task, a list of episodes and a page of false positives go beside the results.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from simforcing_env.commands.checks import at_least, share
from simforcing_env.evaluation.options import EvaluationOptions
from world_model.errors import InputError


@dataclass(frozen=True)
class Config(EvaluationOptions):
    """Options of ``simforcing evaluate openloop``."""

    episodes: int = 100
    """Episodes to replay, the first ones of the data set; 0 for all."""
    threshold: float = 0.5
    """Probability above which a frame counts as success, as in the environments."""


def run(config: Config) -> None:
    """Replay, judge, print, write."""
    import numpy as np

    from simforcing_env.evaluation.episodes import true_episodes
    from simforcing_env.evaluation.loading import open_rollout
    from simforcing_env.evaluation.openloop import openloop_metrics, replay
    from simforcing_env.evaluation.openloop_files import write_openloop_files
    from simforcing_env.evaluation.progress import counting
    from simforcing_env.evaluation.reporting import print_metrics, provenance
    from world_model.results import write_results

    at_least(0, episodes=config.episodes)
    share(threshold=config.threshold)
    if config.dataset is None:
        raise InputError("evaluate openloop replays recorded episodes; give --dataset, a folder of the test split")
    simulator, rollout = open_rollout(config, with_heads=True)
    episodes = true_episodes(config.dataset, config.split, config.episodes, simulator.contract)
    generator = np.random.default_rng(config.seed)
    with counting("replaying episodes", len(episodes)) as step:
        replays = replay(simulator, rollout, episodes, generator, step)
    metrics = openloop_metrics(replays, config.threshold, generator)
    print_metrics(metrics)
    if config.json is None:
        return
    write_openloop_files(Path(config.json), replays, episodes, config.threshold)
    write_results(config.json, metrics=metrics, **provenance(simulator, rollout, [config.seed]))
    print(f"written: {config.json}, tables and pictures beside it")
