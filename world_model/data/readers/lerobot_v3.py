"""LeRobot v3.0 folders of others: many episodes in a table and in a video, metadata in parquet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from world_model.data.readers.damage import reading, refuse
from world_model.data.readers.lerobot_tables import LeRobotTables, Row, Stats, read_object, read_table, whole


class LeRobotV3Reader(LeRobotTables):
    """See the module."""

    layout = "lerobot-v3"
    summary = "LeRobot v3.0 of others: meta/info.json, meta/episodes/, many episodes in a file"
    versions = ("v3.0",)
    shared_videos = True

    @classmethod
    def matches(cls, path: Path) -> bool:
        meta = path / "meta"
        return (meta / "info.json").is_file() and (meta / "episodes").is_dir()

    def _find_rows(self) -> list[Row]:
        files = sorted((self.path / "meta" / "episodes").glob("chunk-*/file-*"))
        if not files:
            raise refuse(self.path / "meta" / "episodes", "", "holds no table of episodes")
        self._firsts: dict[Path, int] = {}
        rows = []
        for file in files:
            table = read_table(file)
            with reading(file):
                kept = table.select([n for n in table.column_names if not n.startswith("stats/")])
                rows += [self._row(entry, file) for entry in kept.to_pylist()]
        return rows

    def _row(self, entry: dict[str, Any], file: Path) -> Row:
        with reading(file):
            number, first = whole(entry["episode_index"]), whole(entry["dataset_from_index"])
            place = {"chunk_index": whole(entry["data/chunk_index"]), "file_index": whole(entry["data/file_index"])}
            data = self._place("data_path", **place)
            # The first row of a file, from the first episode that lies in it.
            inside = first - self._firsts.setdefault(data, first)
            if inside < 0:
                raise ValueError(f"episode {number} begins before its file")
            videos = {}
            for key in self._keys.values():
                if self._features[key]["dtype"] != "video":
                    continue
                at = {n: whole(entry[f"videos/{key}/{n}"]) for n in ("chunk_index", "file_index")}
                start = float(entry[f"videos/{key}/from_timestamp"])
                if not 0 <= start < 1e6:
                    raise ValueError(f"episode {number} begins at {start} s of its video")
                videos[key] = (self._place("video_path", video_key=key, **at), start)
            tasks = tuple(str(task) for task in entry.get("tasks") or ())
            return Row(number, whole(entry["length"]), tasks, data, inside, videos)

    def _stats(self) -> Stats:
        file = self.path / "meta" / "stats.json"
        return read_object(file) if file.is_file() else {}
