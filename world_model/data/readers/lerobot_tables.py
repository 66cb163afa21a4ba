"""What foreign LeRobot folders of all versions share: features, tables of rows, and the quirks seen in real ones.

Row i holds observation i and the action taken at it; the action of an episode's last row leads to no frame. What the
numbers mean (units, kinds, the gripper) is told nowhere: bounds are those of the recorded statistics.
"""

from __future__ import annotations

import io
import json
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from world_model.contract import Camera, Dimension
from world_model.data.lerobot.layout import ACTION, STATE
from world_model.data.lerobot.video import LARGEST_SIDE, VideoReader, require_real_file
from world_model.data.readers.base import AS_STORED, LONGEST, Numbers, Picture, Reader, View
from world_model.data.readers.damage import reading, refuse
from world_model.data.readers.parts import bounded, single
from world_model.rules import shown

IMAGES = ("observation.images.", "observation.")
SEEN_FOR_BOUNDS = 20  # episodes that are read where no statistics tell the bounds
WALL_CLOCK = 1e6  # s
MOST_ROWS = 10**10  # of any table
LABELS = {"reward": "next.reward", "success": "next.success"}
Stats = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Row:
    """Where an episode lies."""

    number: int
    length: int
    tasks: tuple[str, ...]
    data: Path
    first: int
    """Its first row in the data file."""
    videos: Mapping[str, tuple[Path, float]] = field(default_factory=dict)
    """Of each video feature: the file, and the time of the first frame in it (s)."""


class LeRobotTables(Reader):
    """A foreign LeRobot folder; subclasses find the rows of the episodes."""

    versions: tuple[str, ...]
    shared_videos: bool
    """Whether one video holds several episodes."""

    def __init__(self, path: Path, view: View = AS_STORED) -> None:
        super().__init__(path, view)
        self._info_file = path / "meta" / "info.json"
        self.info = read_object(self._info_file)
        version = str(self.info.get("codebase_version"))
        if version not in self.versions:
            raise refuse(
                self._info_file, "", f"is of LeRobot format {version!r}, not {self.versions[-1]}", "convert it"
            )
        with reading(self._info_file):
            self.fps = float(self.info["fps"])
            self._features: dict[str, dict[str, Any]] = {str(k): dict(v) for k, v in self.info["features"].items()}
            self._keys = {_camera_name(k): k for k, f in self._features.items() if f["dtype"] in ("video", "image")}
            cameras = [Camera(name, *_size(self._features[key])) for name, key in self._keys.items()]
            if not 0 < self.fps <= 1000 or not cameras or ACTION not in self._features:
                raise ValueError(f"{self.fps} frames/s, cameras {list(self._keys)}, features {list(self._features)}")
        self._table = lru_cache(maxsize=4)(read_table)
        self._rows = self._find_rows()
        self._check_counts()
        stats = self._stats()
        for label, column in LABELS.items():
            if label == "success" and column in stats and not np.any(stats[column].get("max", True)):
                self.warn("next.success is never true in the statistics of this data set")
        self.warn("units and kinds of the actions and the gripper's direction are told nowhere in such a data set")
        self.warn("the action of an episode's last row leads to no frame and is left out")
        state = self._dimensions(STATE, stats) if STATE in self._features else ()
        robot = str(self.info.get("robot_type") or "unknown")
        contract = bounded(robot, cameras, self.fps, self._dimensions(ACTION, stats), state)
        self._found(contract, [str(row.number) for row in self._rows], self._splits())

    @abstractmethod
    def _find_rows(self) -> list[Row]:
        """All episodes in their order."""

    @abstractmethod
    def _stats(self) -> Stats:
        """``min`` and ``max`` of the features, empty where they are not told."""

    @property
    def label_names(self) -> tuple[str, ...]:
        return tuple(label for label, column in LABELS.items() if column in self._features)

    def _place(self, template: str, **values: Any) -> Path:
        """A path from a template of ``info.json``, whichever of the known names it uses."""
        with reading(self._info_file):
            return self.path / str(self.info[template]).format(**values)

    def _file(self, index: int, camera: str = "") -> Path:
        row = self._rows[index]
        key = self._keys.get(camera, "")
        return row.videos[key][0] if key in row.videos else row.data

    def _numbers(self, index: int) -> Numbers:
        row, name = self._rows[index], self.names[index]
        table = self._part(row, name)
        columns = {n: column(table, n) for n in (ACTION, STATE, *LABELS.values()) if n in table.column_names}
        missing = [n for n in (ACTION, *((STATE,) if STATE in self._features else ())) if n not in columns]
        if missing:
            raise refuse(row.data, name, f"has no column {missing[0]}")
        self._check_clock(table, name)
        labels = {
            label: np.concatenate([[0.0], columns[column_][:-1].ravel()]).astype(np.float32)
            for label, column_ in LABELS.items()
            if column_ in self._features
        }
        action = columns[ACTION].astype(np.float32).reshape(row.length, -1)
        empty = np.zeros((row.length, 0), np.float32)
        state = columns[STATE].astype(np.float32).reshape(row.length, -1) if STATE in columns else empty
        return Numbers(single(action[:-1]), state, row.tasks[0] if row.tasks else "", labels=labels)

    def _part(self, row: Row, name: str) -> pa.Table:
        """The rows of an episode."""
        table = self._table(row.data)
        part = table.slice(row.first, row.length)
        if part.num_rows != row.length:
            raise refuse(row.data, name, f"has {part.num_rows} of the episode's {row.length} rows")
        if not self.shared_videos and table.num_rows != row.length:
            raise refuse(row.data, name, f"has {table.num_rows} rows where the metadata tell of {row.length}")
        if "episode_index" in part.column_names:
            numbers = set(part.column("episode_index").to_pylist())
            if numbers != {row.number}:
                raise refuse(row.data, name, f"has rows of episodes {sorted(map(str, numbers))[:4]} in its place")
        return part

    def _check_clock(self, table: pa.Table, name: str) -> None:
        if "timestamp" not in table.column_names:
            return
        times = column(table, "timestamp").astype(np.float64).ravel()
        if times[0] > WALL_CLOCK:
            self.warn(f"episode {name}: timestamps are those of a wall clock; the rate of info.json counts")
        elif np.abs(times - np.arange(len(times)) / self.fps).max() > 0.5 / self.fps:
            self.warn(f"episode {name}: timestamps are off by half a frame or more; the rate of info.json counts")
        if "next.done" in table.column_names and column(table, "next.done")[:-1].any():
            self.warn("next.done is true before the last row of an episode; episodes end where the metadata say")

    def _stream(self, index: int, camera: str) -> Iterator[Picture]:
        row, key = self._rows[index], self._keys[camera]
        if key not in row.videos:
            yield from _pictures(self._part(row, self.names[index]), key)
            return
        path, start = row.videos[key]
        frames = VideoReader(path).stream(round(start * self.fps))
        yield from islice(frames, row.length) if self.shared_videos else frames

    def _check_counts(self) -> None:
        told = self.info.get("total_episodes")
        if not isinstance(told, int) or told > len(self._rows) or not self._rows:
            raise refuse(
                self._info_file,
                "",
                f"tells of {told} episodes but the metadata list {len(self._rows)}",
                "copy the rest",
            )
        if told < len(self._rows):
            self.warn(f"info.json tells of {told} episodes but {len(self._rows)} are listed, which are all read")
        videos = self.info.get("total_videos")
        wanted = len(self._rows) * sum(f["dtype"] == "video" for f in self._features.values())
        if isinstance(videos, int) and videos != wanted and not self.shared_videos:
            self.warn(f"info.json tells of {videos} videos where {wanted} are due")
        for row in self._rows:
            if not 1 <= row.length <= LONGEST:
                raise refuse(self._info_file.parent, str(row.number), f"gives it a length of {row.length}")

    def _splits(self) -> list[str]:
        splits = [""] * len(self._rows)
        told = self.info.get("splits")
        for name, text in told.items() if isinstance(told, dict) else ():
            first, _, last = str(text).partition(":")
            if not first.isdigit() or not last.isdigit() or int(last) > len(self._rows):
                self.warn(f"split {name!r} of info.json is {text!r}, which does not fit {len(self._rows)} episodes")
            else:
                splits[int(first) : int(last)] = [str(name)] * max(0, int(last) - int(first))
        return splits[: len(self._rows)]

    def _dimensions(self, feature: str, stats: Stats) -> tuple[Dimension, ...]:
        """Dimensions with the bounds that the statistics, or else the first episodes, tell."""
        with reading(self._info_file):
            shape = [int(n) for n in self._features[feature]["shape"]]
            width = int(np.prod(shape)) if shape else 1
            if not 1 <= width <= 1024:
                raise ValueError(f"{feature} of shape {shape}")
            names = _names(self._features[feature].get("names"), feature, width)
        told = stats.get(feature, {})
        try:
            low, high = (np.asarray(told[n], np.float64).reshape(width) for n in ("min", "max"))
        except (KeyError, ValueError, TypeError):
            self.warn(f"no statistics tell the bounds of {feature}; those of the first episodes stand in their place")
            seen = [self._bounds_of(i, feature) for i in range(min(len(self._rows), SEEN_FOR_BOUNDS))]
            low, high = (function([s[i] for s in seen], axis=0) for i, function in enumerate((np.min, np.max)))
        with reading(self._info_file):
            if low.shape != (width,) or not np.isfinite([low, high]).all() or (low > high).any():
                raise ValueError(f"{feature} from {low.tolist()} to {high.tolist()}")
        still = high - low < 1e-6
        low, high = np.where(still, low - 1, low), np.where(still, high + 1, high)
        return tuple(Dimension(n, "", float(a), float(b)) for n, a, b in zip(names, low, high, strict=True))

    def _bounds_of(self, index: int, feature: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        row = self._rows[index]
        with reading(row.data, str(row.number)):
            part = self._part(row, str(row.number))
            if feature not in part.column_names:
                raise ValueError(f"no column {feature}")
            values = column(part, feature).astype(np.float64).reshape(row.length, -1)
        return values.min(0), values.max(0)


def whole(value: Any) -> int:
    """A number of an episode, a file or a row; what can be none raises ValueError."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < MOST_ROWS:
        raise ValueError(f"{shown(value)} in the place of a whole number")
    return value


def read_object(path: Path) -> dict[str, Any]:
    """A JSON file that holds an object (errors as `reading`)."""
    with reading(path):
        require_real_file(path)
        loaded = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(loaded, dict):
            raise ValueError(f"a {type(loaded).__name__} in the place of an object")
        return loaded


def read_table(path: Path) -> pa.Table:
    """A parquet file, also where its name lost the ending (errors as `reading`)."""
    if not path.is_file() and path.with_suffix("").is_file():
        path = path.with_suffix("")
    with reading(path):
        require_real_file(path)
        with pq.ParquetFile(path) as file:
            if file.metadata.num_rows > 100 * LONGEST:
                raise ValueError(f"{file.metadata.num_rows} rows")
            table = file.read(use_threads=False)
        table.validate(full=True)
        return table


def column(table: pa.Table, name: str) -> NDArray[Any]:
    """A column of numbers ``(N,)`` or ``(N, width)``; rows of other widths, and none, raise ValueError."""
    values = table.column(name)
    if values.null_count:
        raise ValueError(f"{values.null_count} rows without {name}")
    if pa.types.is_list(values.type) or pa.types.is_fixed_size_list(values.type) or pa.types.is_large_list(values.type):
        array = np.asarray(values.to_pylist(), np.float64)
    else:
        array = np.asarray(values.to_numpy(zero_copy_only=False))
    if array.dtype.kind not in "iufb":
        raise ValueError(f"{name} holds {array.dtype}")
    return array


def _pictures(table: pa.Table, key: str) -> Iterator[Picture]:
    """Pictures that stand in the table as encoded bytes."""
    from PIL import Image

    if key not in table.column_names:
        raise ValueError(f"no column {key}")
    for value in table.column(key):
        cell = value.as_py()
        with Image.open(io.BytesIO(cell["bytes"])) as image:
            yield np.asarray(image.convert("RGB"))


def _camera_name(key: str) -> str:
    return next((key.removeprefix(prefix) for prefix in IMAGES if key.startswith(prefix)), key)


def _size(feature: Mapping[str, Any]) -> tuple[int, int]:
    """Height and width, of shapes with the channels last or, as some write, first."""
    shape = [int(n) for n in feature["shape"]]
    if len(shape) != 3 or 3 not in (shape[0], shape[2]):
        raise ValueError(f"pictures of shape {shape}")
    height, width = shape[:2] if shape[2] == 3 else shape[1:]
    if not (0 < height <= LARGEST_SIDE and 0 < width <= LARGEST_SIDE):
        raise ValueError(f"pictures of shape {shape}")
    return height, width


def _names(names: Any, feature: str, width: int) -> list[str]:
    """Names of the numbers: a list, a list under one key, or made ones."""
    if isinstance(names, dict):
        names = next(iter(names.values()), None)
    if isinstance(names, list) and len(names) == width and all(isinstance(n, str) for n in names):
        return [str(n) for n in names]
    return [f"{feature.rpartition('.')[2]}_{i}" for i in range(width)]
