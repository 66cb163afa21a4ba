"""SimForcing's arms A to F on recorded pairs: trained for equal processor time, scored on held-out real episodes.

A: real only. B: real and simulated together. C: B with distilled motion. D: C told of the simulator, with dropout and
corruption. E: D without them. F: D trained on the student's own simulation. Scores are means over the generated frames
of each clip, from one known real frame and, where the model is told of it, one simulated frame; nothing else of the
simulator is given (_true: with the true simulator's frames). _wNN is the guidance; arms that are told are reported at
the guidance that is best for them on the validation pairs. Intervals are over pairs, of means over seeds;
seed_noise_db is the largest difference of D's PSNR between two seeds. A killed study goes on with the same command, and
one begun elsewhere where its --scores are: what has been scored is neither trained nor scored again.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from simforcing_env.commands.checks import above, at_least, some
from simforcing_env.commands.study_options import TimedStudyOptions

if TYPE_CHECKING:
    from world_model.metrics.lpips import Lpips
    from world_model.simforcing.scoring import PairClips, Scores
    from world_model.simforcing.study import Runs

SMALLEST = 32  # pixels that LPIPS takes
SHOWN = 3  # clips of the picture


@dataclass(frozen=True, kw_only=True)
class Config(TimedStudyOptions):
    """Options of ``simforcing study simforcing``."""

    pairs: Path
    """Training pairs, as ``simforcing pairs`` writes them; the recipe uses the first of its real episodes only."""
    test: Path
    """Test pairs, which are scored."""
    recipe: str = "pusht-simforcing"
    """Stage 2; stage 1 is the same with "-stage1"."""
    arms: tuple[str, ...] = ("A", "B", "C", "D", "E", "F")
    """Which of them."""
    stage1_minutes: float = 8.0
    """Of the processor time of each arm, for the stage that arms B to F share."""
    frames: int = 16
    """Frames of a clip."""
    clips_each: int = 2
    """Clips of each pair."""
    scores: Path | None = None
    """Folder for the scores of every arm and seed, a small file each; inside --out by default."""
    picture: Path | None = None
    """PNG of some test clips as the arms of the first seed generate them; their runs are to be in --out."""


def run(config: Config) -> None:
    """Train, score, print, write."""
    import numpy as np

    from simforcing_env.evaluation.reporting import print_metrics
    from simforcing_env.evaluation.simforcing_study import copying, metrics_of
    from simforcing_env.evaluation.simforcing_table import HEADING, rows
    from simforcing_env.evaluation.tables import write_csv
    from world_model.data.pairs import read_pairs
    from world_model.errors import InputError
    from world_model.metrics.lpips import find_weights, load_lpips
    from world_model.simforcing.scoring import cut_pairs
    from world_model.simforcing.study import ARMS, Runs
    from world_model.training.kept_scores import kept_scores

    above(0, stage1_minutes=config.stage1_minutes)
    at_least(1, frames=config.frames, clips_each=config.clips_each)
    some(arms=config.arms)
    unknown = [arm for arm in config.arms if arm not in ARMS]
    if unknown or config.stage1_minutes >= config.cpu_minutes:
        raise InputError(
            f"--arms are {' '.join(config.arms)} of {' '.join(ARMS)} and --stage1-minutes {config.stage1_minutes:g} of "
            f"{config.cpu_minutes:g}; name known arms and leave time for stage 2"
        )
    config.begin()
    sides = {"validation": read_pairs(config.held_out), "test": read_pairs(config.test)}
    clips = {name: cut_pairs(side, 1, config.frames, config.clips_each, seed=5) for name, side in sides.items()}
    found, camera = find_weights(), sides["test"].contract.cameras[0]
    lpips = None if found is None or min(camera.height, camera.width) < SMALLEST else load_lpips(found)
    scores: dict[str, list[Scores]] = {arm: [] for arm in config.arms}
    settings = {
        "recipe": config.recipe,
        "set": sorted(config.set),
        "minutes": [config.cpu_minutes, config.stage1_minutes],
        "lpips": lpips is not None,
        "clips": {name: [len(side.real), zlib.crc32(side.real.frames.tobytes())] for name, side in clips.items()},
    }
    for seed in config.seeds:
        runs = Runs(
            config.pairs,
            config.held_out,
            config.out,
            seed,
            config.cpu_minutes,
            config.stage1_minutes,
            config.recipe,
            config.set,
        )
        for arm in config.arms:
            file = (config.scores or config.out / "scores") / f"{arm}-seed-{seed}.npz"
            measure = partial(_trained_and_scored, runs, arm, clips, lpips)
            scores[arm].append(kept_scores(file, settings, measure))
    test, generator = clips["test"].real, np.random.default_rng(0)
    metrics = {**metrics_of(scores, test.group, generator), "psnr_copy": copying(test, generator)}
    print_metrics(metrics)
    config.finish(metrics, sides["test"].contract.hash, None, minutes=config.cpu_minutes)
    if config.json is not None:
        write_csv(config.json.with_suffix(".csv"), HEADING, rows(config.arms, metrics))
    if config.picture is not None:
        best = {arm: float(scores[arm][0]["best"][0]) for arm in config.arms}
        _draw(config.picture, config.out / f"seed{config.seeds[0]}", best, clips["test"])


def _draw(path: Path, runs: Path, best: Mapping[str, float], clips: PairClips) -> None:
    """Told arms that are best when not told are drawn told all the same."""
    import numpy as np

    from simforcing_env.evaluation.simforcing_pictures import arms_picture, some_clips
    from simforcing_env.pictures import write_png

    shown = some_clips(clips, SHOWN)
    trained = {arm: (runs / arm / "checkpoint", weight or 1.0) for arm, weight in best.items()}
    write_png(path, arms_picture(trained, shown, np.arange(len(shown.real))))
    print(f"written: {path}")


def _trained_and_scored(runs: Runs, arm: str, clips: Mapping[str, PairClips], lpips: Lpips | None) -> Scores:
    from simforcing_env.evaluation.simforcing_study import score_arm

    return score_arm(arm, runs.train(arm), clips, lpips, runs.seed)
