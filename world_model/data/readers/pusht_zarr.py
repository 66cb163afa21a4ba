"""Push-T demonstrations as Diffusion Policy keeps them: zarr v2 with all episodes end to end.

Row i holds the state before action i. The contract is that of our Push-T, so these episodes train the same models.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from world_model.contract import Camera, Dimension
from world_model.data.lerobot.video import LARGEST_SIDE
from world_model.data.readers.base import AS_STORED, Numbers, Picture, Reader, View
from world_model.data.readers.damage import reading, refuse
from world_model.data.readers.parts import bounded, rows, single
from world_model.data.zarr import read_zarr_array, zarr_shape

HZ = 10.0
ARENA = 512.0  # px
STATE = ("block_x", "block_y", "block_angle")


class PushtZarrReader(Reader):
    """See the module."""

    layout = "zarr"
    summary = "Diffusion Policy's Push-T: a .zarr folder with data/img, data/state, data/action"
    scaled = "all"

    @classmethod
    def matches(cls, path: Path) -> bool:
        return (path / "meta" / "episode_ends").is_dir() or path.suffix == ".zarr"

    def __init__(self, path: Path, view: View = AS_STORED) -> None:
        super().__init__(path, view)
        ends = path / "meta" / "episode_ends"
        with reading(ends):
            shape = zarr_shape(path / "data" / "img")
            self.ends = np.asarray(read_zarr_array(ends), np.int64).ravel()
            first = np.concatenate([[0], self.ends[:-1]])
            if len(shape) != 4 or shape[3] != 3 or not 1 <= min(shape[1:3]) <= max(shape[1:3]) <= LARGEST_SIDE:
                raise ValueError(f"pictures {shape} are not (N, H, W, 3) of at most {LARGEST_SIDE} pixels a side")
            if not len(self.ends) or (self.ends <= first).any() or self.ends[-1] > shape[0]:
                raise ValueError(f"ends of episodes are not increasing up to the {shape[0]} rows")
        if self.ends[-1] < shape[0]:
            self.warn(f"{shape[0] - int(self.ends[-1])} rows behind the last episode belong to none and are left out")
        self.warn("the action at the last row of an episode leads to no picture and is left out")
        action = [Dimension(f"target_{axis}", "px", 0.0, ARENA) for axis in "xy"]
        proprio = [Dimension(f"agent_{axis}", "px", 0.0, ARENA) for axis in "xy"]
        contract = bounded("pusht", [Camera("top", *shape[1:3])], HZ, action, proprio)
        self._found(contract, [f"human-{i}" for i in range(len(self.ends))])

    @property
    def state_names(self) -> tuple[str, ...]:
        return STATE

    def _file(self, index: int, camera: str = "") -> Path:
        return self.path / "data" / ("img" if camera else "state")

    def _rows(self, index: int) -> slice:
        return slice(int(self.ends[index - 1]) if index else 0, int(self.ends[index]))

    def _numbers(self, index: int) -> Numbers:
        where = self._rows(index)
        found = {}
        for name, width in (("state", 5), ("action", 2)):
            path = self.path / "data" / name
            with reading(path, self.names[index]):
                found[name] = rows(read_zarr_array(path, where))
            if found[name].shape != (where.stop - where.start, width):
                raise refuse(path, self.names[index], f"holds rows {found[name].shape}, not {width} numbers each")
        state = found["state"]
        return Numbers(single(found["action"][:-1]), state[:, :2], "Push the T block onto its goal.", state[:, 2:])

    def _stream(self, index: int, camera: str) -> Iterator[Picture]:
        pictures = read_zarr_array(self._file(index, camera), self._rows(index))
        if pictures.dtype.kind == "f" and np.nanmax(pictures, initial=0.0) <= 1.0 < pictures.size:
            raise ValueError("pictures hold numbers up to 1 where 0 to 255 is due")
        if not ((pictures >= 0) & (pictures <= 255)).all():
            raise ValueError("pictures hold numbers that are no grey levels from 0 to 255")
        yield from np.rint(pictures).astype(np.uint8)
