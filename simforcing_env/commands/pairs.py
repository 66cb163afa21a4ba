"""A pair is the same actions from the same start in both domains of a world: `sim` and `real`.

Takes a data set that `simforcing collect` recorded in one domain and plays its actions again in the other: Push-T of
gym-pusht (`real`) in MuJoCo (`sim`), or LIBERO of plain MuJoCo (`sim`) under drawn looks and physics (`real`). The
folder holds two LeRobot data sets, ``sim/`` and ``real/``, and ``pairs.json`` with the start, appearance, length and
hash of every pair. A run that was killed goes on with the same command.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tqdm import tqdm

from simforcing_env.commands.checks import at_least

PICTURED = 3  # pairs in a picture


@dataclass(frozen=True)
class Config:
    """What to pair, and where to."""

    source: Path
    """Data set of one domain, recorded to its end."""
    out: Path
    """Folder of the pairs."""
    seed: int = 0
    """Of the appearances; another seed gives other looks to the same episodes."""
    looks: int | None = None
    """Appearances that the episodes share by turns, such as 1; by default each has its own."""
    episodes: int | None = None
    """Play the first so many again; the source's side keeps the others too, for training on that side alone."""
    workers: int = 2
    """Playing processes; their number does not change the result."""
    episodes_per_file: int = 8
    """Episodes in a file; a kill costs at most a file per worker."""
    picture: Path | None = None
    """PNG of some moments of the first pairs, `sim` above `real`."""


def run(config: Config) -> None:
    """Play the other domain with a progress bar."""
    counts = {"looks": config.looks, "workers": config.workers, "episodes": config.episodes}
    at_least(1, **counts, episodes_per_file=config.episodes_per_file)
    at_least(0, seed=config.seed)
    from simforcing_env.pair_pictures import contact_sheet
    from simforcing_env.pictures import write_png
    from teachers.appearance.recording import record_pairs
    from world_model.data.pairs import read_pairs

    with tqdm(unit="pair", desc=config.out.name) as bar:

        def progress(done: int, total: int) -> None:
            if bar.total is None:
                bar.total, bar.initial = total, done
            bar.n = done
            bar.refresh()

        record_pairs(
            *(config.source, config.out, config.seed, config.workers, progress),
            per_shard=config.episodes_per_file,
            looks=config.looks,
            episodes=config.episodes,
        )
    print(f"{config.out}: {bar.n} pairs")
    if config.picture is not None:
        write_png(config.picture, contact_sheet(read_pairs(config.out)[:PICTURED]))
