"""IRASim with Frame-Ada, in the nano size, on recordings of real robots: an overfitting check on the episodes that it
is trained on, and a generalisation check on held-out ones.

Recordings of each robot become data sets of 64 x 64 pixels (as `data convert --split order` makes them: the last tenth
test, the tenth before it val). One model is trained for each on train, by the recipe robots-nano. Scored are clips
of one known and nine generated frames of train (_seen), and of val and test together (_held_out): colour PSNR and
latent L2 beside those of copying the known frame, and the PSNR lost with other clips' actions (_shuffle_gap).
Means are over clips and seeds, intervals over episodes. A killed study goes on with the same command; parts of it
(--robots) can be trained side by side in the same --out. Beside the results file stand a table and pictures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from simforcing_env.commands.checks import above, at_least, some
from simforcing_env.commands.study_options import StudyOptions

if TYPE_CHECKING:
    from world_model.results import Metric
    from world_model.training.irasim_study import Scores


class Recording(NamedTuple):
    """Where a robot's recordings lie in the folder of real data, and which camera is taken ("" for the only one)."""

    place: str
    camera: str = ""


RECORDINGS = MappingProxyType(
    {
        "bridge_v2": Recording("bridge_v2_256"),
        "bridge_rlds": Recording("bridge_rlds_octo", "image_0"),
        "droid": Recording("droid_ctrlworld/droid_subset", "camera_0"),
        "droid_new_setup": Recording("droid_ctrlworld/droid_new_setup", "camera_0"),
    }
)
HEADING = (
    "recordings",
    "episodes",
    "number",
    "PSNR, dB",
    "of copying",
    "latent L2",
    "of copying",
    "lost with other actions, dB",
)
UNITS = {"psnr": "dB", "latent_l2": "", "psnr_copy": "dB", "latent_l2_copy": "", "shuffle_gap": "dB"}


@dataclass(frozen=True, kw_only=True)
class Config(StudyOptions):
    """Options of ``simforcing study robots``."""

    shared: Path | None = None
    """Folder of the real data; by default the one that SIMFORCING_SHARED_DATA names."""
    robots: tuple[str, ...] = ("bridge_v2", "bridge_rlds", "droid", "droid_new_setup")
    """Which of them."""
    seeds: tuple[int, ...] = (0,)
    """Of first weights, data order and noise: one training for each."""
    cpu_minutes: float = 10.0
    """Processor time of each training."""
    clips: int = 48
    """Clips to score on, at most, of the seen and of the held-out episodes."""


def run(config: Config) -> None:
    """Convert, train, score, print, write."""
    import numpy as np

    from simforcing_env.evaluation.reporting import print_metrics
    from simforcing_env.evaluation.tables import write_csv
    from simforcing_env.shared_data import shared_folder
    from world_model.results import Metric
    from world_model.rules import refuse_unknown
    from world_model.training.recipes import recipe
    from world_model.training.robots_study import RECIPE, SIDES, robot_scores

    above(0, cpu_minutes=config.cpu_minutes)
    at_least(1, clips=config.clips)
    some(robots=config.robots)
    refuse_unknown(config.robots, RECORDINGS, "robot")
    config.begin()
    shared, generator, metrics = shared_folder(config.shared), np.random.default_rng(0), {}
    contracts, rows = {}, []
    for robot in config.robots:
        data = _converted(RECORDINGS[robot], shared, config.out / "data" / robot)
        runs = [
            robot_scores(data, config.out / f"{robot}-seed-{seed}", seed, config.cpu_minutes, config.clips, config.set)
            for seed in config.seeds
        ]
        for number, side in enumerate(SIDES):
            scores = [run[number] for run in runs]
            for name, unit in UNITS.items():
                values = np.mean([one.values[name] for one in scores], axis=0)
                metrics[f"{robot}_{side}_{name}"] = Metric.mean(values, generator, unit)
            cells = [metrics[f"{robot}_{side}_{name}"] for name in UNITS]
            rows.append([robot, side.replace("_", "-"), cells[0].n, *_cells(cells)])
        contracts[robot] = runs[0][0].contract
        metrics[f"{robot}_steps"] = Metric(float(np.mean([r[0].steps for r in runs])), n=len(runs), unit="steps")
        if config.json is not None:
            _draw(config.json.parent / "media" / f"{config.json.stem}-{robot}.png", runs[0])
    print_metrics(metrics)
    plan = recipe(RECIPE, config.set)
    config.finish(
        metrics,
        None,
        plan.sampler["steps"],
        minutes=config.cpu_minutes,
        parameters_million=round(runs[0][0].parameters / 1e6, 3),
        sampler=plan.sampler,
        batch=plan.train.batch,
        contracts=contracts,
    )
    if config.json is not None:
        write_csv(config.json.with_suffix(".csv"), HEADING, rows)


def _cells(metrics: Sequence[Metric]) -> list[str]:
    """Numbers with their intervals, in the order of `HEADING`."""
    told = []
    for metric in metrics:
        digits = 2 if metric.unit else 4
        ends = "" if metric.low is None else f" ({metric.low:.{digits}f} to {metric.high:.{digits}f})"
        told.append(f"{metric.value:.{digits}f}{ends}")
    psnr, latent_l2, psnr_copy, latent_l2_copy, gap = told
    return [psnr, psnr_copy, latent_l2, latent_l2_copy, gap]


def _converted(recording: Recording, shared: Path, out: Path) -> Path:
    """The data sets train, val and test of a recording; those of an earlier call are taken as they are."""
    from simforcing_env.commands import data_convert

    if not all((out / split / "meta/info.json").is_file() for split in ("train", "val", "test")):
        cameras = (recording.camera,) if recording.camera else ()
        data_convert.run(data_convert.Config(shared / recording.place, out, size="64", cameras=cameras, split="order"))
    return out


def _draw(path: Path, sides: list[Scores]) -> None:
    """Two clips of seen episodes and two of held-out ones: the truth above what was generated."""
    import numpy as np

    from simforcing_env.evaluation.pictures import models_grid
    from simforcing_env.pictures import column, write_png
    from world_model.training.robots_study import SIDES

    grids = []
    for side, scores in zip(SIDES, sides, strict=True):
        picks = np.unique([0, len(scores.true) - 1])
        grids.append(models_grid(scores.true[picks], {f"generated, {side.replace('_', '-')}": scores.made[picks]}))
    write_png(path, column(grids))
    print(f"written: {path}")
