"""Hold generated frames against held-out true episodes.

Each clip has some true frames of history; then the model goes on open-loop under the true actions. Metrics named
_hK are at frame K, not the mean up to K (that is psnr_mean_to_hK); PSNR of identical frames counts as 60 dB; frames
are 10 per second, pixels are of 512.
Poses are read from generated frames by a reader that is trained on true frames alone and compared with the true
simulator's state; the reader's own error on the true frames stands beside (reader_px and reader_deg for the block,
reader_agent_px). "moving" keeps the clips whose block is more than 4 px or 2 degrees from where it was in the last
known frame. Baselines: copy (the last known frame) and velocity (pusher and block go on at their last true velocity,
drawn by the true renderer). _one_frame: the same clips from their last known frame alone, which is what env.reset
knows; most are in motion there, which one frame does not show. shuffle_gap_db, zero_gap_db and shift_*_gap_db: PSNR
lost, as the mean of frames 1 to 16, when a clip gets another episode's actions, is told to hold the pusher where it
is, or gets actions one frame off. Intervals are over episodes. Tune on --split validation or a validation data set
only.
"""

from __future__ import annotations

from dataclasses import dataclass

from simforcing_env.commands.checks import at_least, some
from simforcing_env.evaluation.options import EvaluationOptions
from world_model.errors import InputError


@dataclass(frozen=True)
class Config(EvaluationOptions):
    """Options of ``simforcing evaluate video``."""

    episodes: int = 200
    """Episodes to use, 0 for all of a data set."""
    clips_per_episode: int = 2
    """Windows from each episode, at random places that do not overlap."""
    horizons: tuple[int, ...] = (1, 8, 16, 32)
    """Generated frames at which metrics are taken."""


def run(config: Config) -> None:
    """Generate, measure, print, write."""
    import numpy as np
    from tqdm import tqdm

    from simforcing_env.evaluation.episodes import true_episodes
    from simforcing_env.evaluation.loading import open_rollout
    from simforcing_env.evaluation.pose_reader import load_reader
    from simforcing_env.evaluation.reporting import print_metrics, provenance
    from simforcing_env.evaluation.video import evaluate_video
    from simforcing_env.evaluation.video_metrics import (
        headline,
        video_metrics,
        write_clip_table,
        write_curve_table,
        write_metric_table,
    )
    from world_model.metrics.clips import cut_clips
    from world_model.metrics.lpips import MISSING, find_weights, load_lpips
    from world_model.results import write_results

    at_least(1, clips_per_episode=config.clips_per_episode, horizons=config.horizons)
    at_least(2, episodes=config.episodes or None, history=config.history)
    some(horizons=config.horizons)
    simulator, rollout = open_rollout(config)
    reader, camera = load_reader(), simulator.contract.cameras[0]
    size = reader.config.size
    if (simulator.contract.name, camera.height, camera.width) != ("pusht", size, size):
        raise InputError(
            f"checkpoint {config.checkpoint} draws {simulator.contract.name} at {camera.width} x {camera.height} px "
            f"but the pose reader knows Push-T at {size} x {size} px only; give such a checkpoint"
        )
    if rollout.history < 2:
        raise InputError("the baseline of constant velocity needs 2 known frames, not 1; give --history 2 or more")
    episodes = true_episodes(config.dataset, config.split, config.episodes, simulator.contract)
    generator = np.random.default_rng(config.seed)
    clips = cut_clips(episodes, rollout.history, max(config.horizons), config.clips_per_episode, generator, 2)
    weights = find_weights()
    if weights is None:
        print(MISSING)
    lpips = load_lpips(weights) if weights else None
    report = evaluate_video(rollout, clips, reader, lpips, config.horizons, generator, tqdm.write)
    metrics = video_metrics(report, config.horizons, generator)
    print_metrics(metrics)
    if config.json is None:
        return
    from simforcing_env.evaluation.pictures import comparison_grid
    from simforcing_env.evaluation.plots import curve_figure, save_figure
    from simforcing_env.pictures import write_png

    write_metric_table(config.json.with_name(f"{config.json.stem}-metrics.csv"), metrics)
    write_clip_table(config.json.with_name(f"{config.json.stem}-clips.csv"), report, config.horizons)
    write_curve_table(config.json.with_name(f"{config.json.stem}-curves.csv"), report)
    media = config.json.parent / "media"
    write_png(media / f"{config.json.stem}.png", comparison_grid(report))
    save_figure(media / f"{config.json.stem}-curves.png", curve_figure(report))
    kept = headline(metrics)
    write_results(config.json, metrics=kept, **provenance(simulator, rollout, [config.seed]))
    print(f"written: {config.json}, tables beside it, pictures in {media}")
