"""LeRobot v2.0 and v2.1 folders: one table and one video for each episode, metadata in JSON lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from world_model.data.lerobot.video import require_real_file
from world_model.data.readers.damage import reading
from world_model.data.readers.lerobot_tables import LeRobotTables, Row, Stats, read_object, whole


class LeRobotV2Reader(LeRobotTables):
    """See the module."""

    layout = "lerobot-v2"
    summary = "LeRobot v2.0 and v2.1: meta/info.json, meta/episodes.jsonl, a table and a video for each episode"
    versions = ("v2.0", "v2.1")
    shared_videos = False

    @classmethod
    def matches(cls, path: Path) -> bool:
        meta = path / "meta"
        return (meta / "info.json").is_file() and not (meta / "episodes").is_dir()

    def _find_rows(self) -> list[Row]:
        rows = []
        size = self.info.get("chunks_size") or 1000
        with reading(self._info_file):
            size = max(1, int(size))
        file = self.path / "meta" / "episodes.jsonl"
        for entry in read_lines(file):
            with reading(file):
                number, length = whole(entry["episode_index"]), whole(entry["length"])
                tasks = tuple(str(task) for task in entry.get("tasks", []))
            chunk = {"episode_chunk": number // size, "chunk_index": number // size}
            place = {**chunk, "episode_index": number, "file_index": number}
            videos = {
                key: (self._place("video_path", video_key=key, **place), 0.0)
                for key in self._keys.values()
                if self._features[key]["dtype"] == "video"
            }
            rows.append(Row(number, length, tasks, self._place("data_path", **place), 0, videos))
        return rows

    def _stats(self) -> Stats:
        meta = self.path / "meta"
        if (meta / "stats.json").is_file():
            return read_object(meta / "stats.json")
        file = meta / "episodes_stats.jsonl"
        if not file.is_file():
            return {}
        parts: dict[str, dict[str, list[Any]]] = {}
        for entry in read_lines(file):
            with reading(file):
                for feature, values in entry["stats"].items():
                    for name in ("min", "max"):
                        parts.setdefault(feature, {}).setdefault(name, []).append(values[name])
        with reading(file):
            return {
                feature: {"min": np.min(values["min"], axis=0), "max": np.max(values["max"], axis=0)}
                for feature, values in parts.items()
            }


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Objects of a file of JSON lines (errors as `reading`)."""
    with reading(path):
        require_real_file(path)
        loaded = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
        if not all(isinstance(entry, dict) for entry in loaded):
            raise ValueError("a line that holds no object")
        return loaded
