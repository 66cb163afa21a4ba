"""Episodes are a function of split, seed and number: a run that was killed goes on with the same command and ends with
the same data set. The folder is a LeRobot v3.0 data set that opens at any time. Options that a teacher does not have
are refused.
"""

from __future__ import annotations

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
    """True simulator to record from: "pusht", "pusht-mujoco", "libero" or one of its suites."""
    frames: int | None = None
    """Record at least this many frames; 100000 if neither frames nor episodes are given."""
    episodes: int | None = None
    """Record this many episodes instead."""
    split: Literal["train", "validation", "test"] = "train"
    """Which starts to use; those of different splits never meet."""
    seed: int = 0
    """Another seed gives other episodes of the same split."""
    workers: int = 2
    """Recording processes; their number does not change the result."""
    size: int | None = None
    """Height and width of the frames in pixels; 64 for Push-T and 128 for LIBERO by default."""
    look: str | None = None
    """Push-T: "area" (default) draws antialiased frames, "stock" gym-pusht's own, whose edges flicker. LIBERO: "stock"
    (default), or "fast", which draws meshes with fewer faces."""
    behaviours: tuple[str, ...] | None = None
    """Record only these behaviours, in their usual proportions; by default all."""
    goal: tuple[float, float, float] | None = None
    """Push-T: goal pose, x and y in px of 512, angle in radians; (256, 256, pi / 4) by default."""
    demonstrations: Path | None = None
    """Push-T: human demonstrations (zarr folder); by default those under SIMFORCING_SHARED_DATA, or none."""
    suite: str | None = None
    """LIBERO: the suite, "libero_goal" by default."""
    tasks: tuple[str, ...] | None = None
    """LIBERO: numbers or names of the suite's tasks to record; by default all."""
    cameras: tuple[str, ...] | None = None
    """LIBERO: of "agentview" and "wrist"; both by default."""
    frame_hz: float | None = None
    """LIBERO: frames per second, 5 by default; the arm is controlled at 20 Hz all the same."""


OPTIONS = ("size", "look", "behaviours", "goal", "demonstrations", "suite", "tasks", "cameras", "frame_hz")
FRAMES = 100_000


def run(config: Config) -> None:
    """Record the data set with a progress bar."""
    from teachers.collection import Job, collect
    from teachers.recording import recordable

    options = {name: value for name in OPTIONS if (value := getattr(config, name)) is not None}
    per_shard = recordable(config.teacher).episodes_per_shard
    frames = FRAMES if config.frames is None and config.episodes is None else config.frames
    job = Job(config.teacher, config.split, config.seed, frames, options, per_shard, config.episodes)
    unit = "frame" if config.episodes is None else "episode"
    with tqdm(unit=unit, desc=config.out.name) as bar:

        def progress(done: int, total: int) -> None:
            if bar.total is None:
                bar.total, bar.initial = total, done  # those of an earlier run do not count for the speed
            bar.n = done
            bar.refresh()

        collect(job, config.out, config.workers, progress)
    print(f"{config.out}: {bar.n} {unit}s")
