"""Bridge V2 as a video and an array of actions for each episode: ``000000000.mp4`` and ``000000000.npz``.

The array ``arr_0`` has a row for each frame: scaled moves and turns, gripper (-1 open, 1 closed) and three numbers of
base motion. Row k is the command given at frame k; in the six real episodes here the picture moves most one frame
later (the robot lags). The command at the last frame leads to no frame.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from world_model.contract import Camera, Dimension, GripperPolarity
from world_model.data.lerobot.video import VideoReader
from world_model.data.readers.arrays import read_array
from world_model.data.readers.base import AS_STORED, Numbers, Picture, Reader, View
from world_model.data.readers.damage import reading, refuse
from world_model.data.readers.parts import AXES, TURNS, bounded, dimensions, rows, single

HZ = 5.0
KEY = "arr_0"
GRIPPER: GripperPolarity = "plus_closes"
COLUMNS = 10
USED = 7
LARGEST_MOVE = 3.0
ACTIONS = (
    *dimensions([f"move_{a}" for a in AXES], "scaled", LARGEST_MOVE, "relative"),
    *dimensions([f"turn_{t}" for t in TURNS], "scaled", LARGEST_MOVE, "relative"),
    Dimension("gripper", "sign", -1.0, 1.0),
)


class Mp4NpzReader(Reader):
    """See the module."""

    layout = "mp4-npz"
    summary = "Bridge V2: NUMBER.mp4 beside NUMBER.npz with one action row for each frame"

    @classmethod
    def matches(cls, path: Path) -> bool:
        return path.is_dir() and any(p.with_suffix(".npz").exists() for p in path.glob("*.mp4"))

    def __init__(self, path: Path, view: View = AS_STORED) -> None:
        super().__init__(path, view)
        stems = {p.stem for p in path.glob("*.mp4")} | {p.stem for p in path.glob("*.npz")}
        names = sorted(stems, key=lambda stem: (len(stem), stem))
        if names:
            with reading(path / f"{names[0]}.mp4", names[0]):
                video = VideoReader(path / f"{names[0]}.mp4")
                (height, width), fps = video.size, video.fps
                video.close()
            if abs(fps - HZ) > 0.01:
                self.warn(f"the videos say {fps:g} frames/s; Bridge was recorded at {HZ:g} Hz, which counts here")
            self._found(bounded("bridge", [Camera("rgb", height, width)], HZ, ACTIONS, gripper=GRIPPER), names)
        else:
            self._found(bounded("bridge", [Camera("rgb", 1, 1)], HZ, ACTIONS), names)

    def _file(self, index: int, camera: str = "") -> Path:
        return self.path / f"{self.names[index]}.{'mp4' if camera else 'npz'}"

    def _numbers(self, index: int) -> Numbers:
        path = self._file(index)
        values = rows(read_array(path, KEY))
        if values.shape[1] != COLUMNS:
            raise refuse(path, self.names[index], f"holds actions {values.shape}, not (T, {COLUMNS})")
        if values[:, USED:].any():
            raise refuse(path, self.names[index], "moves the base, which is not read here", "leave the episode out")
        self.warn("the numbers 7 to 9 of the actions (base motion) are 0 throughout and left out")
        self.warn("the action at the last frame of an episode leads to no frame and is left out")
        return Numbers(single(values[:-1, :USED]), np.zeros((len(values), 0), np.float32))

    def _stream(self, index: int, camera: str) -> Iterator[Picture]:
        return VideoReader(self._file(index, camera)).stream()
