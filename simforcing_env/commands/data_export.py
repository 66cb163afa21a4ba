"""A recorded LIBERO data set becomes HDF5 files in the layout of LIBERO's published demonstrations, one a task. Each
episode is played again to get at all 20 control steps a second.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tqdm import tqdm


@dataclass(frozen=True)
class Config:
    """What to export, and where to."""

    dataset: Path
    """LeRobot v3.0 folder, recorded by ``simforcing collect --teacher libero``."""
    out: Path
    """Folder for the files; none of them may be there already."""
    pictures: bool = True
    """Draw all control steps, which takes most of the time."""
    successes_only: bool = False
    """Leave out the episodes that do not end with success."""
    look: Literal["stock", "fast"] | None = None
    """Of the pictures; None is that of the data set, which gives the same ones again."""


def run(config: Config) -> None:
    """Play the episodes again, with a progress bar."""
    from world_model.data.lerobot.reader import read_dataset
    from world_model.extras import require

    module = require("teachers.libero.demonstration_export", "libero")
    dataset = read_dataset(config.dataset)
    with tqdm(unit="episode", desc=config.out.name) as bar:

        def progress(done: int) -> None:
            bar.n = done
            bar.refresh()

        files = module.export_demonstrations(
            dataset,
            config.out,
            pictures=config.pictures,
            successes_only=config.successes_only,
            look=config.look,
            progress=progress,
        )
    print(f"{config.out}: {bar.n} episodes in {len(files)} files")
