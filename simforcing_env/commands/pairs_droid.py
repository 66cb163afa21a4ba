"""Real episodes of a Franka (DROID in the layout of Ctrl-World's examples) beside the same joints in MuJoCo.

Where the camera stood is fitted to key points of the robot in the pictures; the error of every fit is printed. The
folder is one of pairs, as `simforcing pairs` makes them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tqdm import tqdm

from simforcing_env.commands.checks import at_least, results_file


@dataclass(frozen=True)
class Config:
    """Which episodes, and where to."""

    source: Path
    """Folder that holds ``droid_new_setup``."""
    out: Path
    """Folder of the pairs."""
    workers: int = 1
    """Drawing processes; their number does not change the result."""
    json: Path | None = None
    """Results file with the errors of the cameras."""
    picture: Path | None = None
    """PNG of some moments of every pair: `sim`, the arm of `sim` over `real` in red, and `real`."""


def run(config: Config) -> None:
    """Draw the simulated side with a progress bar, and print how well the cameras fit."""
    at_least(1, workers=config.workers)
    results_file(config.json)
    from simforcing_env.evaluation.reporting import plain_provenance
    from simforcing_env.pair_pictures import overlay_sheet
    from simforcing_env.pictures import write_png
    from teachers.replay.recording import record_replay
    from world_model.results import Metric, write_results

    with tqdm(unit="episode", desc=config.out.name) as bar:

        def progress(done: int, total: int) -> None:
            bar.total, bar.n = total, done
            bar.refresh()

        teacher = record_replay(config.source, config.out, config.workers, progress)
    metrics: dict[str, Metric] = {}
    for name in teacher.names:
        fit, held_out = teacher.fit(name), teacher.held_out(name)
        unseen = "" if held_out is None else f"; {held_out.error_px:.2f} px on {held_out.points} held-out"
        print(
            f"{name}: camera fits {fit.points} key points within {fit.error_px:.2f} px (rms), {fit.worst_px:.2f} px at "
            f"most{unseen}"
        )
        number = name.rpartition("/")[2]
        metrics[f"camera_px_{number}"] = Metric(fit.error_px, n=fit.points, unit="px")
        if held_out is not None:
            metrics[f"camera_px_{number}_held_out"] = Metric(held_out.error_px, n=held_out.points, unit="px")
    print(f"{config.out}: {len(teacher.names)} pairs")
    if config.json is not None:
        write_results(config.json, metrics=metrics, **plain_provenance([], teacher.contract.hash))
    if config.picture is not None:
        write_png(config.picture, overlay_sheet(teacher))
