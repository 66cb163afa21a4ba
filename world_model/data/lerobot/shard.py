"""One shard: some whole episodes in one data file, one video and one table of episodes."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from world_model.data.episode import Episode
from world_model.data.lerobot.layout import ACTION, ENVIRONMENT_STATE, STATE, DatasetSpec, file_place
from world_model.data.lerobot.stats import frame_stats
from world_model.data.lerobot.video import VideoWriter
from world_model.errors import InputError

PARTS = {"data": "data.parquet", "video": "video.mp4", "episodes": "episodes.parquet"}


class ShardWriter:
    """Fills ``folder`` with the three files of shard number ``shard``; use it as a context."""

    def __init__(self, folder: Path, spec: DatasetSpec, shard: int, first_episode: int, first_index: int) -> None:
        self.spec, self.folder, self.shard = spec, folder, shard
        self._episode, self._first_index, self._index = first_episode, first_index, first_index
        self._tables: list[pa.Table] = []
        self._episodes: list[dict[str, Any]] = []
        camera = spec.contract.cameras[0]
        self._video = VideoWriter(folder / PARTS["video"], camera.height, camera.width, spec.contract.frame_hz)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._video.__exit__(kind, error, trace)
        if error is None:
            pq.write_table(pa.concat_tables(self._tables), self.folder / PARTS["data"], compression="zstd")
            pq.write_table(pa.Table.from_pylist(self._episodes), self.folder / PARTS["episodes"], compression="zstd")

    def add(self, episode: Episode) -> None:
        """Append an episode.

        Raises:
            InputError: it does not fit the data set's contract, state or labels.
        """
        self._check(episode)
        fps, key, place = self.spec.contract.frame_hz, self.spec.video_key, file_place(self.shard)
        start, length = self._index - self._first_index, len(episode)
        self._video.add(episode.frames)
        self._tables.append(self._rows(episode))
        self._episodes.append(
            {
                "episode_index": self._episode,
                "tasks": [self.spec.task],
                "length": length,
                "dataset_from_index": self._index,
                "dataset_to_index": self._index + length,
                "data/chunk_index": place["chunk_index"],
                "data/file_index": place["file_index"],
                f"videos/{key}/chunk_index": place["chunk_index"],
                f"videos/{key}/file_index": place["file_index"],
                f"videos/{key}/from_timestamp": start / fps,
                f"videos/{key}/to_timestamp": (start + length) / fps,
                "meta/episodes/chunk_index": place["chunk_index"],
                "meta/episodes/file_index": place["file_index"],
                "start": episode.start,
                "behaviour": episode.behaviour,
                "seed": self.spec.seed,
                **{f"stats/{key}/{name}": values for name, values in frame_stats(episode.frames).items()},
            }
        )
        self._episode += 1
        self._index += length

    def _rows(self, episode: Episode) -> pa.Table:
        rows = len(episode)
        following = np.minimum(np.arange(rows) + 1, rows - 1)
        actions = episode.actions.reshape(rows - 1, -1)
        columns: dict[str, NDArray[Any]] = {
            STATE: episode.proprio,
            ACTION: np.concatenate([actions, actions[-1:]]),
            "action_is_pad": np.arange(rows) == rows - 1,
            "next.done": following == rows - 1,
            **{f"label.{name}": episode.labels[name] for name in self.spec.label_names},
            "timestamp": np.arange(rows) / self.spec.contract.frame_hz,
            "frame_index": np.arange(rows),
            "episode_index": np.full(rows, self._episode),
            "index": self._index + np.arange(rows),
            "task_index": np.zeros(rows),
        }
        if episode.state is not None:
            columns[ENVIRONMENT_STATE] = episode.state
        if "reward" in self.spec.label_names:
            columns["next.reward"] = episode.labels["reward"][following]
        if "success" in self.spec.label_names:
            columns["next.success"] = episode.labels["success"][following]
        schema = self.spec.schema()
        return pa.table([_array(columns[field.name], field.type) for field in schema], schema=schema)

    def _check(self, episode: Episode) -> None:
        contract, camera = self.spec.contract, self.spec.contract.cameras[0]
        found = {
            "frames": episode.frames.shape[1:],
            "proprio": episode.proprio.shape[1:],
            "actions": episode.actions.shape[1:],
            "state": () if episode.state is None else episode.state.shape[1:],
            "labels": tuple(sorted(episode.labels)),
        }
        wanted = {
            "frames": (camera.height, camera.width, 3),
            "proprio": (contract.proprio_dim,),
            "actions": (contract.actions_per_frame, contract.action_dim),
            "state": (len(self.spec.state_names),) if self.spec.state_names else (),
            "labels": tuple(sorted(self.spec.label_names)),
        }
        if len(episode) < 2:
            raise InputError(f"episode {self._episode} ({episode.start}) has no transition; record at least one")
        for name, value in found.items():
            if value != wanted[name]:
                raise InputError(
                    f"episode {self._episode} ({episode.start}) has {name} {value} per row but the data set "
                    f"holds {wanted[name]}; record it with the data set's contract"
                )


def _array(values: NDArray[Any], kind: pa.DataType) -> pa.Array:
    if pa.types.is_fixed_size_list(kind):
        flat = np.ascontiguousarray(values, kind.value_type.to_pandas_dtype()).reshape(-1)
        return pa.FixedSizeListArray.from_arrays(pa.array(flat, kind.value_type), kind.list_size)
    return pa.array(np.asarray(values).astype(kind.to_pandas_dtype()), kind)
