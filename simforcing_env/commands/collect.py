"""Episodes are a function of split, seed and number: a run that was killed goes on with the same command and ends with
the same data set. The folder is a LeRobot v3.0 data set that opens at any time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tqdm import tqdm


@dataclass(frozen=True)
class Config:
    """What to record, and where to."""

    out: Path
    """Folder of the data set; a folder with the same settings is continued."""
    teacher: str = "pusht"
    """True simulator to record from."""
    frames: int = 100_000
    """Record at least this many frames."""
    split: Literal["train", "validation", "test"] = "train"
    """Which starts to use; those of different splits never meet."""
    seed: int = 0
    """Another seed gives other episodes of the same split."""
    workers: int = 2
    """Recording processes; their number does not change the result."""
    size: int = 64
    """Height and width of the frames in pixels."""
    look: Literal["area", "stock"] = "area"
    """"area" draws antialiased frames; "stock" draws gym-pusht's own, whose edges flicker."""
    goal: tuple[float, float, float] = (256.0, 256.0, math.pi / 4)
    """Goal pose: x and y in px of 512, angle in radians."""
    behaviours: tuple[str, ...] = ()
    """Record only these behaviours, in their usual proportions; by default all."""
    demonstrations: Path | None = None
    """Human demonstrations of Push-T (zarr folder); by default those under SIMFORCING_SHARED_DATA, or none."""


def run(config: Config) -> None:
    """Record the data set with a progress bar."""
    from teachers.collection import Job, collect

    options = {
        "size": config.size,
        "look": config.look,
        "goal": config.goal,
        "behaviours": config.behaviours,
        "demonstrations": config.demonstrations,
    }
    job = Job(config.teacher, config.split, config.seed, config.frames, options)
    with tqdm(unit="frame", desc=config.out.name) as bar:

        def progress(done: int, total: int) -> None:
            if bar.total is None:
                bar.total, bar.initial = total, done  # frames of an earlier run do not count for the speed
            bar.n = done
            bar.refresh()

        collect(job, config.out, config.workers, progress)
    print(f"{config.out}: {bar.n} frames")
