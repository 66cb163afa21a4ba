"""The human demonstrations of Push-T (Diffusion Policy's zarr)."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from teachers.pusht.physics import PushTState
from world_model.data.zarr import read_zarr_array
from world_model.errors import DataError, InputError

DEFAULT = Path("pusht_human") / "pusht_cchi_v7_ep000-044.zarr"


@dataclass(frozen=True)
class Demonstrations:
    """Episodes end to end: row i holds the state before action i."""

    states: NDArray[np.float32]  # (N, 5) pusher x, y, block x, y in px, angle in radians
    actions: NDArray[np.float32]  # (N, 2) targets in px
    ends: NDArray[np.int64]  # (E,) row behind each episode's last one

    def __len__(self) -> int:
        return len(self.ends)

    @property
    def train_count(self) -> int:
        """Episodes before this one train; the last tenth is for tests."""
        return len(self) * 9 // 10

    def rows(self, episode: int) -> slice:
        """Rows of one episode.

        Raises:
            InputError: no such episode.
        """
        if not 0 <= episode < len(self):
            raise InputError(f"human demonstration {episode} does not exist; there are 0 to {len(self) - 1}")
        return slice(int(self.ends[episode - 1]) if episode else 0, int(self.ends[episode]))

    def state(self, episode: int, step: int = 0) -> PushTState:
        """Recorded state ``step``, pusher at rest.

        Raises:
            InputError: no such episode or step.
        """
        rows = self.rows(episode)
        if not 0 <= step < rows.stop - rows.start:
            raise InputError(
                f"step {step} of human demonstration {episode} does not exist; it has {rows.stop - rows.start}"
            )
        return PushTState(*map(float, self.states[rows.start + step]))

    def targets(self, episode: int) -> NDArray[np.float32]:
        """Actions ``(n, 2)`` of one episode."""
        return self.actions[self.rows(episode)]


def find_demonstrations(path: Path | None = None) -> Path | None:
    """Folder of the demonstrations: ``path``, or the one under SIMFORCING_SHARED_DATA, or None."""
    if path is not None:
        return path
    shared = os.environ.get("SIMFORCING_SHARED_DATA")
    root = Path(shared) if shared else Path(__file__).resolve().parents[2].parent / "shared" / "data"
    return root / DEFAULT if (root / DEFAULT).is_dir() else None


def demonstrations(path: Path | None = None) -> Demonstrations:
    """Read the demonstrations once per process.

    Raises:
        DataError: they are not there, or damaged.
    """
    folder = find_demonstrations(path)
    if folder is None:
        raise DataError(
            "human starts need the Push-T demonstrations; point SIMFORCING_SHARED_DATA or --demonstrations at them"
        )
    return _read(folder)


@cache
def _read(folder: Path) -> Demonstrations:
    return Demonstrations(
        np.asarray(read_zarr_array(folder / "data" / "state"), np.float32),
        np.asarray(read_zarr_array(folder / "data" / "action"), np.float32),
        np.asarray(read_zarr_array(folder / "meta" / "episode_ends"), np.int64),
    )
