"""How far the success probability can be trusted, on true frames and on generated frames of the same moments.

Windows of held-out episodes: true history, then 16 (--frames) generated frames under the true actions. Every
generated frame, and the true frame of the same moment, is judged by the heads; the event is the teacher's truth at
that moment. So the generated numbers hold the heads' errors and the world model's together. brier_base_rate is the
Brier score of always saying the base rate. Intervals are over episodes. The false-positive page shows the frames
that were called a success and were none. Tune on --split validation only.
"""

from __future__ import annotations

from dataclasses import dataclass

from simforcing_env.commands.checks import at_least, share
from simforcing_env.evaluation.options import EvaluationOptions

_NEAR_SHARE = 0.75


@dataclass(frozen=True)
class Config(EvaluationOptions):
    """Options of ``simforcing evaluate calibration``."""

    episodes: int = 400
    """Episodes, 0 for all of a data set."""
    near_share: float | None = None
    """Share, by default 0.75, of the episodes recorded on the spot with the block pushed about the goal;
    successes are rare in the others."""
    clips_per_episode: int = 3
    """Windows from each episode, at random places that do not overlap."""
    frames: int = 16
    """Frames to generate in each."""


def run(config: Config) -> None:
    """Record, generate, judge, print, write."""
    import numpy as np
    from tqdm import tqdm

    from simforcing_env.evaluation.calibration import calibration_metrics, check_event, judged
    from simforcing_env.evaluation.calibration_files import write_files
    from simforcing_env.evaluation.episodes import mixed_episodes
    from simforcing_env.evaluation.loading import open_rollout
    from simforcing_env.evaluation.outcomes import predict_outcomes
    from simforcing_env.evaluation.reporting import print_metrics, provenance
    from world_model.metrics.clips import cut_clips
    from world_model.results import write_results

    at_least(1, frames=config.frames, clips_per_episode=config.clips_per_episode)
    at_least(2, episodes=config.episodes or None)
    share(near_share=config.near_share)
    simulator, rollout = open_rollout(config, with_heads=True)
    episodes = mixed_episodes(
        config.dataset, config.split, config.episodes, config.near_share, _NEAR_SHARE, simulator.contract
    )
    generator = np.random.default_rng(config.seed)
    clips = cut_clips(episodes, rollout.history, config.frames, config.clips_per_episode, generator, 2)
    success = simulator.heads.config.success
    others = [name for name in simulator.heads.config.events if name != success]
    for name in {success, *others} & set(clips.labels):
        check_event(name, clips.labels[name][:, clips.history :])
    outcomes = predict_outcomes(simulator, rollout, clips, generator, tqdm.write)
    metrics = calibration_metrics(judged(outcomes, success), generator)
    for name in others:
        found = calibration_metrics(judged(outcomes, name), generator)
        metrics |= {f"{name}_{key}": found[key] for key in found if key.startswith(("brier", "auroc", "base"))}
    print_metrics(metrics)
    if config.json is None:
        return
    write_files(config.json, outcomes, [success, *others])
    write_results(config.json, metrics=metrics, **provenance(simulator, rollout, [config.seed]))
    print(f"written: {config.json}, a table beside it, plot and pages in {config.json.parent / 'media'}")
