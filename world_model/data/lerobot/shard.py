"""One shard: some whole episodes in one data file, one video for each camera, and one table of episodes."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from world_model.canvas import canvas_shape, split
from world_model.data.episode import Episode
from world_model.data.lerobot.layout import (
    ACTION,
    ENVIRONMENT_STATE,
    SIMULATION,
    STATE,
    DatasetSpec,
    file_place,
    staged_paths,
    video_key,
)
from world_model.data.lerobot.stats import frame_stats
from world_model.data.lerobot.video import VideoWriter
from world_model.errors import InputError


class ShardWriter:
    """Fills ``folder`` with the files of shard number ``shard``; use it as a context.

    Rows are counted from the shard's first one, for nobody knows yet how many come before; `DatasetWriter` adds those.
    """

    def __init__(self, folder: Path, spec: DatasetSpec, shard: int, first_episode: int) -> None:
        self.spec, self.shard = spec, shard
        self._episode, self._index = first_episode, 0
        self._tables: list[pa.Table] = []
        self._episodes: list[dict[str, Any]] = []
        self._paths = staged_paths(folder, spec)
        self._shape = canvas_shape(spec.contract)
        self._videos = {
            (key := video_key(camera)): VideoWriter(
                self._paths[key], camera.height, camera.width, spec.contract.frame_hz
            )
            for camera in spec.contract.cameras
        }

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for video in self._videos.values():
            video.__exit__(kind, error, trace)
        if error is None:
            write_shard_table(pa.concat_tables(self._tables), self._paths["data"])
            write_shard_table(pa.Table.from_pylist(self._episodes), self._paths["episodes"])

    def add(self, episode: Episode) -> None:
        """Append an episode.

        Raises:
            InputError: it does not fit the data set's contract, state or labels.
        """
        self._check(episode)
        fps, place, first, length = self.spec.contract.frame_hz, file_place(self.shard), self._index, len(episode)
        pictures = split(self.spec.contract, episode.frames, self.spec.video_keys)
        for key, frames in pictures.items():
            self._videos[key].add(frames)
        self._tables.append(self._rows(episode))
        self._episodes.append(
            {
                "episode_index": self._episode,
                "tasks": [self.spec.tasks[episode.task]],
                "length": length,
                "dataset_from_index": first,
                "dataset_to_index": first + length,
                "data/chunk_index": place["chunk_index"],
                "data/file_index": place["file_index"],
                **{
                    f"videos/{key}/{name}": value
                    for key in pictures
                    for name, value in (
                        *place.items(),
                        ("from_timestamp", first / fps),
                        ("to_timestamp", (first + length) / fps),
                    )
                },
                "meta/episodes/chunk_index": place["chunk_index"],
                "meta/episodes/file_index": place["file_index"],
                "start": episode.start,
                "behaviour": episode.behaviour,
                "seed": self.spec.seed,
                **{
                    f"stats/{key}/{name}": values
                    for key, frames in pictures.items()
                    for name, values in frame_stats(frames).items()
                },
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
            "task_index": np.full(rows, episode.task),
        }
        if episode.simulation is not None:
            columns[SIMULATION] = episode.simulation
        if episode.state is not None:
            columns[ENVIRONMENT_STATE] = episode.state
        if "reward" in self.spec.label_names:
            columns["next.reward"] = episode.labels["reward"][following]
        if "success" in self.spec.label_names:
            columns["next.success"] = episode.labels["success"][following]
        schema = self.spec.schema()
        return pa.table([column_of(columns[field.name], field.type) for field in schema], schema=schema)

    def _check(self, episode: Episode) -> None:
        contract = self.spec.contract
        found = {
            "frames": episode.frames.shape[1:],
            "proprio": episode.proprio.shape[1:],
            "actions": episode.actions.shape[1:],
            "state": () if episode.state is None else episode.state.shape[1:],
            "simulation": () if episode.simulation is None else episode.simulation.shape[1:],
            "labels": tuple(sorted(episode.labels)),
        }
        wanted = {
            "frames": self._shape,
            "proprio": (contract.proprio_dim,),
            "actions": (contract.actions_per_frame, contract.action_dim),
            "state": (len(self.spec.state_names),) if self.spec.state_names else (),
            "simulation": (self.spec.simulation_width,) if self.spec.simulation_width else (),
            "labels": tuple(sorted(self.spec.label_names)),
        }
        if not 0 <= episode.task < len(self.spec.tasks):
            raise InputError(
                f"episode {self._episode} ({episode.start}) is of task {episode.task} but the data set has "
                f"{len(self.spec.tasks)} tasks; number them from 0"
            )
        if len(episode) < 2:
            raise InputError(f"episode {self._episode} ({episode.start}) has no transition; record at least one")
        for name, value in found.items():
            if value != wanted[name]:
                raise InputError(
                    f"episode {self._episode} ({episode.start}) has {name} {value} per row but the data set "
                    f"holds {wanted[name]}; record it with the data set's contract"
                )


def write_shard_table(table: pa.Table, path: Path) -> None:
    """Write a parquet file of a shard."""
    pq.write_table(table, path, compression="zstd")


def column_of(values: NDArray[Any], kind: pa.DataType) -> pa.Array:
    if pa.types.is_fixed_size_list(kind):
        flat = np.ascontiguousarray(values, kind.value_type.to_pandas_dtype()).reshape(-1)
        return pa.FixedSizeListArray.from_arrays(pa.array(flat, kind.value_type), kind.list_size)
    return pa.array(np.asarray(values).astype(kind.to_pandas_dtype()), kind)
