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
is, or gets actions one frame off. Intervals are over episodes, of which the pieces of one human
demonstration are one. A robot arm's simulator is measured by pixels (each
camera's too) and by the predicted place of the hand (gripper_cm); _success and _failure keep episodes by their end,
"moving" those in which an object has gone a centimetre. Tune on --split validation or a validation data set
only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from simforcing_env.commands.checks import at_least, some
from simforcing_env.evaluation.options import EvaluationOptions
from world_model.errors import InputError

if TYPE_CHECKING:
    import numpy as np

    from world_model.data.episode import Episode
    from world_model.metrics.clips import Clips
    from world_model.metrics.lpips import Lpips
    from world_model.pretrained import LearnedSimulator
    from world_model.rollout import Rollout


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
    from world_model.results import write_results

    at_least(1, clips_per_episode=config.clips_per_episode, horizons=config.horizons)
    at_least(2, episodes=config.episodes or None, history=config.history)
    some(horizons=config.horizons)
    simulator, rollout = open_rollout(config)
    if simulator.contract.name != "pusht":
        _arm(config, simulator, rollout)
        return
    reader, camera = load_reader(), simulator.contract.cameras[0]
    size = reader.config.size
    if (camera.height, camera.width) != (size, size):
        raise InputError(
            f"checkpoint {config.checkpoint} draws {simulator.contract.name} at {camera.width} x {camera.height} px "
            f"but the pose reader knows Push-T at {size} x {size} px only; give such a checkpoint"
        )
    if rollout.history < 2:
        raise InputError("the baseline of constant velocity needs 2 known frames, not 1; give --history 2 or more")
    episodes = true_episodes(config.dataset, config.split, config.episodes, simulator.contract)
    generator = np.random.default_rng(config.seed)
    clips, lpips = _prepared(config, rollout, episodes, generator)
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


def _prepared(
    config: Config, rollout: Rollout, episodes: list[Episode], generator: np.random.Generator
) -> tuple[Clips, Lpips | None]:
    from world_model.metrics.clips import cut_clips
    from world_model.metrics.lpips import MISSING, find_weights, load_lpips

    weights = find_weights()
    if weights is None:
        print(MISSING)
    clips = cut_clips(episodes, rollout.history, max(config.horizons), config.clips_per_episode, generator, 2)
    return clips, load_lpips(weights) if weights else None


def _arm(config: Config, simulator: LearnedSimulator, rollout: Rollout) -> None:
    """The report of a robot arm's simulator, whose objects have no reader."""
    import numpy as np
    from tqdm import tqdm

    from simforcing_env.evaluation.arm_pictures import arm_grid
    from simforcing_env.evaluation.arm_video import arm_metrics, evaluate_arm_video
    from simforcing_env.evaluation.episodes import first_episodes
    from simforcing_env.evaluation.reporting import print_metrics, provenance
    from simforcing_env.evaluation.video_metrics import headline, write_metric_table
    from simforcing_env.pictures import write_png
    from world_model.data.lerobot.reader import read_dataset
    from world_model.results import write_results

    if config.dataset is None:
        raise InputError(f"evaluate video takes recorded episodes of {simulator.contract.name}; give --dataset")
    data = read_dataset(config.dataset, simulator.contract)
    episodes = first_episodes(data, config.episodes)
    generator = np.random.default_rng(config.seed)
    clips, lpips = _prepared(config, rollout, episodes, generator)
    names = data.state_names
    report = evaluate_arm_video(rollout, clips, episodes, names, lpips, config.horizons, generator, tqdm.write)
    metrics = arm_metrics(report, config.horizons, generator)
    print_metrics(metrics)
    if config.json is None:
        return
    write_png(config.json.parent / "media" / f"{config.json.stem}.png", arm_grid(report), widest=900)
    write_metric_table(config.json.with_name(f"{config.json.stem}-metrics.csv"), metrics)
    write_results(config.json, metrics=headline(metrics), **provenance(simulator, rollout, [config.seed]))
    print(f"written: {config.json}, a table of all metrics beside it")
