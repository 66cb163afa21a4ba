"""Writer of LeRobot v2.1: one table and one video for each episode, metadata in JSON lines."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from world_model.data.episode import Episode
from world_model.data.lerobot.layout import ACTION, BOOKKEEPING, FILES_PER_CHUNK, STATE, DatasetSpec, video_key
from world_model.data.lerobot.shard import column_of, write_shard_table
from world_model.data.lerobot.stats import frame_stats, table_stats
from world_model.data.lerobot.writer import write_text
from world_model.data.writers.base import Writer, padded

VERSION = "v2.1"
DATA_PATH = "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet"
VIDEO_PATH = "videos/chunk-{episode_chunk:03d}/{video_key}/episode_{episode_index:06d}.mp4"


class LeRobotV2Writer(Writer):
    """Row i holds observation i and the action taken at it; the last row repeats the action before it."""

    layout = "lerobot-v2"
    keeps_labels = ("reward", "success")

    def _refuse_unfit(self) -> None:
        labels = tuple(name for name in self.keeps_labels if name in self.origin.label_names)
        self._spec = DatasetSpec(self.contract, (), labels, self.origin.tasks)
        kept = {
            *([STATE] if self.has_proprio else []),
            ACTION,
            *(f"next.{n}" for n in labels),
            "next.done",
            *BOOKKEEPING,
            *map(video_key, self.contract.cameras),
        }
        self._features = {name: feature for name, feature in self._spec.features().items() if name in kept}
        self._schema = pa.schema([field for field in self._spec.schema() if field.name in kept])
        self._episodes: list[dict[str, Any]] = []
        self._stats: list[dict[str, Any]] = []
        self._splits: list[str] = []
        self._frames = 0
        if not self.contract.frame_hz.is_integer():
            self.warnings.append(f"{self.contract.frame_hz:g} frames/s is no whole number, which LeRobot expects")

    def _add(self, episode: Episode, name: str, split_name: str) -> None:
        number, length = self.count, len(episode)
        place = {"episode_chunk": number // FILES_PER_CHUNK, "episode_index": number}
        following = np.minimum(np.arange(length) + 1, length - 1)
        columns: dict[str, NDArray[Any]] = {
            STATE: episode.proprio,
            ACTION: padded(episode.actions),
            "next.done": following == length - 1,
            "timestamp": np.arange(length) / self.contract.frame_hz,
            "frame_index": np.arange(length),
            "episode_index": np.full(length, number),
            "index": self._frames + np.arange(length),
            "task_index": np.full(length, episode.task),
            **{f"next.{n}": episode.labels[n][following] for n in self._spec.label_names},
        }
        arrays = [column_of(columns[field.name], field.type) for field in self._schema]
        table = pa.table(arrays, schema=self._schema)
        path = self.folder / DATA_PATH.format(**place)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_shard_table(table, path)
        stats: dict[str, Any] = table_stats(table)
        for camera, frames in zip(self.contract.cameras, self._pictures(episode).values(), strict=True):
            self._video(self.folder / VIDEO_PATH.format(video_key=video_key(camera), **place), frames)
            stats[video_key(camera)] = frame_stats(frames)
        tasks = [self.origin.tasks[episode.task]]
        self._episodes.append({"episode_index": number, "tasks": tasks, "length": length})
        self._stats.append({"episode_index": number, "stats": stats})
        self._splits.append(split_name or "train")
        self._frames += length

    def close(self) -> None:
        spec_info = self._spec.info(self.count, self._frames)
        kept = {name: spec_info[name] for name in ("robot_type", "total_tasks", "chunks_size", "fps")}
        info = {
            "codebase_version": VERSION,
            **kept,
            "total_episodes": self.count,
            "total_frames": self._frames,
            "total_videos": self.count * len(self.contract.cameras),
            "total_chunks": -(-self.count // FILES_PER_CHUNK),
            "splits": self._ranges(),
            "data_path": DATA_PATH,
            "video_path": VIDEO_PATH,
            "features": self._features,
        }
        meta = self.folder / "meta"
        write_text(meta / "info.json", json.dumps(info, indent=2))
        tasks = [{"task_index": i, "task": task} for i, task in enumerate(self.origin.tasks)]
        for file, entries in (("episodes", self._episodes), ("episodes_stats", self._stats), ("tasks", tasks)):
            write_text(meta / f"{file}.jsonl", "".join(f"{json.dumps(entry)}\n" for entry in entries))

    def _ranges(self) -> dict[str, str]:
        """Splits as LeRobot tells them, which works where each is one stretch; else all are "train"."""
        found = {
            s: (self._splits.index(s), self.count - self._splits[::-1].index(s)) for s in dict.fromkeys(self._splits)
        }
        if any(self._splits[a:b] != [s] * (b - a) for s, (a, b) in found.items()):
            self.warnings.append("the splits lie mixed in their order, which LeRobot cannot tell: all are 'train'")
            return {"train": f"0:{self.count}"}
        return {s: f"{a}:{b}" for s, (a, b) in found.items()}
