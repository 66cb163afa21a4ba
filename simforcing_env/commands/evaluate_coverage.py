"""Hold the coverage that the heads read from generated frames against the true simulator's.

One window of each episode: true history, then 16 (--frames) generated frames under the true actions. pearson and
mae compare the coverage read from the last generated frame with the teacher's. Beside them: the heads on the true
frame of that moment (_true_frames), no change since the last known frame (_copy, told the true coverage there), and
the parts with true coverage above 0.5 (_near) or a change of more than 0.05 (_changed). Half of the episodes begin
near the goal. Intervals are over episodes. Tune on --split validation only.
"""

from __future__ import annotations

from dataclasses import dataclass

from simforcing_env.commands.checks import at_least, share
from simforcing_env.evaluation.options import EvaluationOptions
from world_model.errors import InputError

_NEAR_SHARE = 0.5


@dataclass(frozen=True)
class Config(EvaluationOptions):
    """Options of ``simforcing evaluate coverage``."""

    episodes: int = 400
    """Episodes, one window each; 0 for all of a data set."""
    near_share: float | None = None
    """Share, by default 0.5, of the episodes recorded on the spot with the block pushed about the goal;
    the others are of every behaviour."""
    frames: int = 16
    """Frames to generate."""


def run(config: Config) -> None:
    """Record, generate, judge, print, write."""
    import numpy as np
    from tqdm import tqdm

    from simforcing_env.evaluation.coverage import LABEL, coverage_figure, coverage_metrics, coverage_table
    from simforcing_env.evaluation.episodes import mixed_episodes
    from simforcing_env.evaluation.loading import open_rollout
    from simforcing_env.evaluation.outcomes import predict_outcomes
    from simforcing_env.evaluation.plots import save_figure
    from simforcing_env.evaluation.reporting import print_metrics, provenance
    from world_model.metrics.clips import cut_clips
    from world_model.results import write_results

    at_least(1, frames=config.frames)
    at_least(2, episodes=config.episodes or None)
    share(near_share=config.near_share)
    simulator, rollout = open_rollout(config, with_heads=True)
    if LABEL not in simulator.heads.labels:
        raise InputError(
            f"the heads of {config.checkpoint} predict {', '.join(simulator.heads.labels)} but not {LABEL}; "
            "train heads on a data set with that label"
        )
    episodes = mixed_episodes(
        config.dataset, config.split, config.episodes, config.near_share, _NEAR_SHARE, simulator.contract
    )
    generator = np.random.default_rng(config.seed)
    clips = cut_clips(episodes, rollout.history, config.frames, 1, generator, 2)
    outcomes = predict_outcomes(simulator, rollout, clips, generator, tqdm.write)
    metrics = coverage_metrics(outcomes, generator)
    print_metrics(metrics)
    if config.json is None:
        return
    coverage_table(config.json.with_name(f"{config.json.stem}-starts.csv"), outcomes)
    save_figure(config.json.parent / "media" / f"{config.json.stem}.png", coverage_figure(outcomes))
    write_results(config.json, metrics=metrics, **provenance(simulator, rollout, [config.seed]))
    print(f"written: {config.json}, a table beside it, a picture in {config.json.parent / 'media'}")
