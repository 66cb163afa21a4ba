"""Real episodes of a Franka (DROID in the layout of Ctrl-World's examples) beside the same joints in MuJoCo.

Where the camera stood is fitted to key points of the robot in the pictures; the error of every fit is printed. The
folder is one of pairs, as `simforcing pairs` makes them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tqdm import tqdm


@dataclass(frozen=True)
class Config:
    """Which episodes, and where to."""

    source: Path
    """Folder that holds ``droid_new_setup``."""
    out: Path
    """Folder of the pairs."""
    workers: int = 1
    """Drawing processes; their number does not change the result."""
    picture: Path | None = None
    """PNG of some moments of every pair: `sim`, the arm of `sim` over `real` in red, and `real`."""


def run(config: Config) -> None:
    """Draw the simulated side with a progress bar, and print how well the cameras fit."""
    from simforcing_env.pair_pictures import overlay_sheet
    from simforcing_env.pictures import write_png
    from teachers.replay.recording import record_replay

    with tqdm(unit="episode", desc=config.out.name) as bar:

        def progress(done: int, total: int) -> None:
            bar.total, bar.n = total, done
            bar.refresh()

        teacher = record_replay(config.source, config.out, config.workers, progress)
    for name in teacher.names:
        fit, held_out = teacher.fit(name), teacher.held_out(name)
        unseen = "" if held_out is None else f"; {held_out.error_px:.2f} px on {held_out.points} held-out"
        print(
            f"{name}: camera fits {fit.points} key points within {fit.error_px:.2f} px (rms), {fit.worst_px:.2f} px at "
            f"most{unseen}"
        )
    print(f"{config.out}: {len(teacher.names)} pairs")
    if config.picture is not None:
        write_png(config.picture, overlay_sheet(teacher))
