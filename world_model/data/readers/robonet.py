"""RoboNet's HDF5 files, one an episode: ``env/state``, ``policy/actions`` and ``env/cam0_video``, ``cam1_video``, ...

A video is the bytes of an mp4 in the array ``frames``, or a JPEG in each of ``frame0``, ``frame1``, ... There is one
action less than there are states and pictures.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import av
import numpy as np
from numpy.typing import NDArray

from world_model.contract import Camera, Dimension
from world_model.data.hdf5_opening import open_hdf5
from world_model.data.lerobot.video import LARGEST_SIDE
from world_model.data.readers.base import AS_STORED, LONGEST, Numbers, Picture, Reader, View
from world_model.data.readers.damage import reading, refuse
from world_model.data.readers.parts import bounded, dimensions, rows, single
from world_model.data.readers.robomimic import hdf5_files
from world_model.errors import DataError

HZ = 5.0
ACTIONS = (
    *dimensions(("move_x", "move_y", "move_z"), "m", 0.3, "relative"),
    Dimension("turn_yaw", "rad", -3.15, 3.15, "relative"),
    Dimension("gripper", "command", -1.0, 1.0),
)
STATE = (*dimensions(("x", "y", "z"), "workspace", 2.0), *dimensions(("yaw", "gripper"), "", 7.0))
"""Places are shares of the robot's workspace."""


class RoboNetReader(Reader):
    """See the module."""

    layout = "robonet"
    summary = "RoboNet: one HDF5 an episode, with env/cam0_video and policy/actions"

    @classmethod
    def matches(cls, path: Path) -> bool:
        files = hdf5_files(path)
        if not files:
            return False
        try:
            with open_hdf5(files[0]) as file:
                return "env" in file and "policy" in file
        except (OSError, RuntimeError, KeyError, DataError):
            return False

    def __init__(self, path: Path, view: View = AS_STORED) -> None:
        super().__init__(path, view)
        self._files = hdf5_files(path)
        if not self._files:
            raise refuse(path, "", "holds no HDF5 file", "check the path")
        file = self._files[0]
        with reading(file, file.stem), self._open(0) as opened:
            names = [n.removesuffix("_video") for n in opened["env"] if n.startswith("cam") and n.endswith("_video")]
            cameras = [Camera(n, *_size(opened["env"][f"{n}_video"])) for n in sorted(names)]
            width, state = opened["policy/actions"].shape[1], opened["env/state"].shape[1]
            robot = _text(opened["metadata"].attrs.get("robot", "robonet")) if "metadata" in opened else "robonet"
            if not cameras:
                raise ValueError("no env/cam0_video")
        if width > len(ACTIONS) or state > len(STATE):
            raise refuse(file, file.stem, f"has actions of {width} and states of {state} numbers, more than RoboNet's")
        self._found(bounded(robot, cameras, HZ, ACTIONS[:width], STATE[:state]), [f.stem for f in self._files])

    def _open(self, index: int) -> Any:
        return open_hdf5(self._files[index])

    def _file(self, index: int, camera: str = "") -> Path:
        return self._files[index]

    def _numbers(self, index: int) -> Numbers:
        with self._open(index) as file:
            actions, state = (_table(file[name]) for name in ("policy/actions", "env/state"))
        if len(state) > len(actions) + 1:
            self.warn(
                f"episode {self.names[index]}: {len(state)} states for {len(actions)} actions; the last are left out"
            )
        length = min(len(state), len(actions) + 1)
        return Numbers(single(actions[: length - 1]), state[:length])

    def _stream(self, index: int, camera: str) -> Iterator[Picture]:
        with self._open(index) as file:
            video = file["env"][f"{camera}_video"]
            turned = _format(video) == "BGR"
            frames = _mp4(np.asarray(video["frames"])) if "frames" in video else _jpegs(video)
            for frame in frames:
                yield np.ascontiguousarray(frame[..., ::-1]) if turned else frame


def _table(dataset: Any) -> NDArray[np.float32]:
    if len(dataset.shape) != 2 or dataset.shape[0] > LONGEST or dataset.shape[1] > 64:
        raise ValueError(f"{dataset.name} is {dataset.shape}")
    return rows(np.asarray(dataset))


def _first(video: Mapping[str, Any]) -> Any:
    return video["frames"] if "frames" in video else video["frame0"]


def _size(video: Mapping[str, Any]) -> tuple[int, int]:
    height, width = (int(n) for n in _first(video).attrs["shape"][:2])
    if not (0 < height <= LARGEST_SIDE and 0 < width <= LARGEST_SIDE):
        raise ValueError(f"pictures of {width} x {height}")
    return height, width


def _format(video: Mapping[str, Any]) -> str:
    return _text(_first(video).attrs.get("image_format", "RGB"))


def _text(value: Any) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def _mp4(data: NDArray[np.uint8]) -> Iterator[Picture]:
    with av.open(io.BytesIO(data.tobytes()), "r") as container:
        stream = container.streams.video[0]
        stream.codec_context.options = {"err_detect": "explode"}
        for frame in container.decode(stream):
            yield np.asarray(frame.to_ndarray(format="rgb24"), np.uint8)


def _jpegs(video: Mapping[str, Any]) -> Iterator[Picture]:
    from PIL import Image

    for number in range(len(video)):
        with Image.open(io.BytesIO(np.asarray(video[f"frame{number}"]).astype(np.uint8).tobytes())) as image:
            yield np.asarray(image.convert("RGB"))
