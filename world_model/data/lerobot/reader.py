"""Reader of LeRobot v3.0 folders that carry our contract."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, overload

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from world_model.canvas import join
from world_model.contract import Camera, Contract
from world_model.data.episode import Episode
from world_model.data.lerobot.layout import ACTION, ENVIRONMENT_STATE, SIMULATION, STATE, VERSION, video_key
from world_model.data.lerobot.stats import column_array
from world_model.data.lerobot.video import VideoReader, require_real_file
from world_model.errors import ContractError, DataError


def read_dataset(path: Path | str, contract: Contract | None = None) -> LeRobotDataset:
    """Open a data set; frames are decoded when an episode is asked for.

    Args:
        path: a LeRobot v3.0 folder, finished or still being recorded.
        contract: what the reader expects; also stands in for a folder that has none of its own.

    Raises:
        DataError: a file is missing or damaged (it is named), or the folder is of another format.
        ContractError: the data set's contract differs from ``contract`` or from its own features.
    """
    return LeRobotDataset(Path(path), contract)


class LeRobotDataset(Sequence[Episode]):
    """Episodes of one folder, by number; see `read_dataset`."""

    def __init__(self, path: Path, contract: Contract | None = None) -> None:
        self.path = path
        self.info: dict[str, Any] = _read_json(path / "meta" / "info.json")
        if self.info.get("codebase_version") != VERSION:
            raise DataError(
                f"{path} is of LeRobot format {self.info.get('codebase_version')!r}; convert it to {VERSION} first"
            )
        for name in ("data_path", "video_path"):
            if not isinstance(self.info.get(name), str):
                raise DataError(
                    f"{path / 'meta' / 'info.json'} has no text {name!r}; it is damaged, copy the data set again"
                )
        self.contract = self._contract(contract)
        self._videos: dict[str, VideoReader] = {}
        self._check_features()
        self._episodes = self._read_episodes()
        self._table = lru_cache(maxsize=4)(self._read_table)

    @property
    def total_frames(self) -> int:
        return int(sum(row["length"] for row in self._episodes))

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Observations of each episode ``(E,)``."""
        return np.array([row["length"] for row in self._episodes], np.int64)

    @property
    def starts(self) -> list[str]:
        """Start of each episode."""
        return [row.get("start", "") for row in self._episodes]

    @property
    def behaviours(self) -> list[str]:
        """Behaviour that recorded each episode."""
        return [row.get("behaviour", "") for row in self._episodes]

    @property
    def state_names(self) -> tuple[str, ...]:
        """Names of the numbers in ``Episode.state``, if recorded."""
        return tuple(self.info["features"].get(ENVIRONMENT_STATE, {}).get("names") or ())

    @property
    def tasks(self) -> list[str]:
        """What each task number of an episode stands for, in words."""
        table = _read_parquet(self.path / "meta" / "tasks.parquet")
        words = next(name for name in table.column_names if name != "task_index")
        return [row[words] for row in sorted(table.to_pylist(), key=lambda row: row["task_index"])]

    def __len__(self) -> int:
        return len(self._episodes)

    def __iter__(self) -> Iterator[Episode]:
        """All episodes in their order, which needs no seeking in the videos."""
        return (self[i] for i in range(len(self)))

    @overload
    def __getitem__(self, index: int) -> Episode: ...

    @overload
    def __getitem__(self, index: slice) -> list[Episode]: ...

    def __getitem__(self, index: int | slice) -> Episode | list[Episode]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        number = index + len(self) if index < 0 else index
        if not 0 <= number < len(self):
            raise IndexError(f"episode {index} of {len(self)}")
        columns = self.columns(number)
        return Episode(
            frames=self.frames(number),
            proprio=columns[STATE],
            actions=self.actions(number),
            state=columns.get(ENVIRONMENT_STATE),
            labels={k.removeprefix("label."): v for k, v in columns.items() if k.startswith("label.")},
            start=self._episodes[number].get("start", ""),
            behaviour=self._episodes[number].get("behaviour", ""),
            task=int(columns["task_index"][0]),
            simulation=columns.get(SIMULATION),
        )

    def row(self, number: int) -> dict[str, Any]:
        """What the table of episodes says of one."""
        return self._episodes[number]

    def columns(self, number: int) -> dict[str, NDArray[Any]]:
        """All columns of an episode but the video, ``(T,)`` or ``(T, width)`` each.

        Raises:
            DataError: the data file is missing, damaged or short, or holds numbers that are none.
        """
        row = self._episodes[number]
        path = self.path / self.info["data_path"].format(
            chunk_index=row["data/chunk_index"], file_index=row["data/file_index"]
        )
        table, first = self._table(path)
        start = row["dataset_from_index"] - first
        part = table.slice(start, row["length"]) if start >= 0 else table.slice(0, 0)
        if part.num_rows != row["length"] or column_array(part, "episode_index").tolist() != [number] * row["length"]:
            raise DataError(f"episode {number} is not whole in {path}; copy the data set again")
        widths = {STATE: self.contract.proprio_dim, ACTION: self.contract.actions_per_frame * self.contract.action_dim}
        for name in (*widths, "task_index"):
            if name not in part.column_names:
                raise DataError(f"{path} has no column {name}; copy the data set again")
        columns = {name: column_array(part, name) for name in part.column_names}
        for name, width in widths.items():
            if columns[name].shape[1:] != (width,) or not np.isfinite(columns[name]).all():
                raise DataError(
                    f"episode {number}: {name} in {path} is not {width} finite numbers in every row; record it again"
                )
        return columns

    def actions(self, number: int) -> NDArray[np.float32]:
        """Actions ``(T - 1, a, A)`` of an episode, read without its frames.

        Raises:
            DataError: the data file is missing, damaged or short.
        """
        rows: NDArray[np.float32] = self.columns(number)[ACTION]
        return rows.reshape(len(rows), self.contract.actions_per_frame, self.contract.action_dim)[:-1]

    def frames(self, number: int) -> NDArray[np.uint8]:
        """Canvases ``(T, H, W, 3)`` RGB of an episode.

        Raises:
            DataError: a video is missing, damaged or short; the sentence names file and episode.
        """
        return join(self.contract, {camera.name: self.pictures(number, camera) for camera in self.contract.cameras})

    def pictures(self, number: int, camera: Camera) -> NDArray[np.uint8]:
        """Frames ``(T, H, W, 3)`` of one camera (errors as `frames`)."""
        row, key = self._episodes[number], video_key(camera)
        prefix = f"videos/{key}/"
        path = self.path / self.info["video_path"].format(
            video_key=key, chunk_index=row[f"{prefix}chunk_index"], file_index=row[f"{prefix}file_index"]
        )
        first = round(row[f"{prefix}from_timestamp"] * self.info["fps"])
        try:
            video = self._videos.pop(key, None)  # one that fails is not kept
            if video is None or video.path != path:
                video = VideoReader(path)
            pictures = video.read(first, row["length"])
        except DataError as error:
            raise DataError(f"episode {number}: {error}") from error
        if pictures.shape[1:] != (camera.height, camera.width, 3):
            raise DataError(
                f"episode {number}: video {path} holds pictures of {pictures.shape[2]} x {pictures.shape[1]}, not "
                f"{camera.width} x {camera.height}; copy the data set again"
            )
        self._videos[key] = video
        return pictures

    def _contract(self, expected: Contract | None) -> Contract:
        file = self.path / "meta" / "contract.json"
        if not file.exists():
            if expected is None:
                raise DataError(f"{self.path} holds no meta/contract.json; pass the contract that its numbers follow")
            return expected
        try:
            own = Contract.from_json(file.read_text(encoding="utf-8"))
        except UnicodeError as error:
            raise ContractError(f"{file}: it holds no text ({error}); it is damaged, copy it again") from error
        except ContractError as error:
            raise ContractError(f"{file}: {error}") from error
        if expected is not None:
            own.require_same(expected, str(self.path), "the reader")
        return own

    def _check_features(self) -> None:
        """Hold the declared features against the contract."""
        contract, features = self.contract, self.info.get("features", {})
        if not isinstance(features, dict) or not all(isinstance(feature, dict) for feature in features.values()):
            raise DataError(f"{self.path / 'meta' / 'info.json'} has damaged features; copy the data set again")
        wanted = {
            **{video_key(camera): [camera.height, camera.width, 3] for camera in contract.cameras},
            STATE: [contract.proprio_dim],
            ACTION: [contract.actions_per_frame * contract.action_dim],
        }
        for name, shape in wanted.items():
            found = features.get(name, {}).get("shape")
            if found != shape:
                raise ContractError(
                    f"{self.path} declares {name} of shape {found}, its contract {shape}; record it again"
                )
        if abs(self.info["fps"] - contract.frame_hz) > 1e-6:
            raise ContractError(
                f"{self.path} holds {self.info['fps']} frames/s, its contract {contract.frame_hz:g}; record it again"
            )

    def _read_episodes(self) -> list[dict[str, Any]]:
        files = sorted((self.path / "meta" / "episodes").glob("chunk-*/file-*.parquet"))
        rows: list[dict[str, Any]] = []
        for file in files:
            table = _read_parquet(file)
            rows += table.select([n for n in table.column_names if not n.startswith("stats/")]).to_pylist()
        total = self.info["total_episodes"]
        if len(rows) < total or [r["episode_index"] for r in rows[:total]] != list(range(total)):
            raise DataError(
                f"{self.path} should hold {total} episodes but meta/episodes lists {len(rows)}; "
                "copy it again, with all its files"
            )
        if not total:
            raise DataError(f"{self.path} holds no episode yet; let the recording go on")
        return rows[:total]

    def _read_table(self, path: Path) -> tuple[pa.Table, int]:
        table = _read_parquet(path)
        return table, int(table.column("index")[0].as_py())


def _read_parquet(path: Path) -> pa.Table:
    require_real_file(path)
    try:
        return pq.read_table(path)
    except (pa.ArrowException, OSError) as error:
        reason = " ".join(str(error).split())
        raise DataError(f"table {path} is cut off or damaged ({reason}); copy it again") from error


def _read_json(path: Path) -> dict[str, Any]:
    require_real_file(path)
    try:
        loaded = json.loads(path.read_text())
    except ValueError as error:
        raise DataError(f"{path} is not readable JSON ({error}); copy it again") from error
    if not isinstance(loaded, dict):
        raise DataError(f"{path} holds a {type(loaded).__name__} instead of an object; copy it again")
    return loaded
