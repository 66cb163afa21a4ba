"""Demonstrations in HDF5, as LIBERO publishes them, robomimic draws them or robosuite records them, become a LeRobot
v3.0 data set. Every file is read through before anything is written. A killed run goes on with the same command.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tqdm import tqdm

if TYPE_CHECKING:
    from world_model.errors import DataError


@dataclass(frozen=True)
class Config:
    """What to read, and where to write."""

    source: Path
    """An HDF5 file, or a folder with such files of one suite."""
    out: Path
    """Folder of the data set; a folder with the same settings is continued."""
    skip_damaged: bool = False
    """Leave out files that are damaged, and name them; without it the first of them ends the command."""
    split: Literal["train", "test"] = "train"
    """The first nine tenths of each file's demonstrations, or the others."""
    suite: str = ""
    """The LIBERO suite, where the files do not tell it."""
    cameras: tuple[str, ...] = ()
    """Of "agentview" and "wrist"; by default those that the files have."""
    frame_hz: float = 5.0
    """Frames per second to keep; the files have 20."""
    size: int = 128
    """Height and width of frames that must be drawn because a file holds states only."""
    workers: int = 1
    """Processes; their number does not change the result."""


def run(config: Config) -> None:
    """Check the files, then read them with a progress bar."""
    from teachers.collection import collect
    from world_model.extras import require

    module = require("teachers.libero.demonstrations", "libero")
    sources = require("teachers.libero.demonstration_files", "libero")
    left_out: list[str] = []

    def damaged(path: Path, error: DataError) -> None:
        if not config.skip_damaged:
            raise type(error)(f"{error}, or leave such files out with --skip-damaged") from error
        left_out.append(str(path))
        print(f"left out: {error}", file=sys.stderr)

    files = sources.whole_files(sources.demonstration_files(config.source), damaged)
    job = module.ImportJob(
        teacher=config.suite,
        split=config.split,
        seed=0,
        frames=None,
        options={},
        files=files,
        cameras=config.cameras,
        size=config.size,
        frame_hz=config.frame_hz,
    ).of_all()
    with tqdm(unit="episode", desc=config.out.name) as bar:

        def progress(done: int, total: int) -> None:
            bar.total, bar.n = total, done
            bar.refresh()

        collect(job, config.out, config.workers, progress)
    skipped = f", {len(left_out)} damaged files left out" if left_out else ""
    print(f"{config.out}: {bar.n} episodes of {len(files)} files{skipped}")
