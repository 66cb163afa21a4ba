"""A LeRobot v3.0 folder that grows shard by shard and opens at any moment."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from world_model.data.lerobot.layout import DatasetSpec, shard_paths, staged_paths
from world_model.data.lerobot.shard import write_shard_table
from world_model.data.lerobot.stats import merge_frame_stats, table_stats


class DatasetWriter:
    """Takes finished shards in their order.

    A shard's table of episodes is moved in last and is what makes it count, so a kill between any two
    renames leaves a whole data set and at most some files that nothing refers to yet.
    """

    def __init__(self, root: Path, spec: DatasetSpec) -> None:
        self.root, self.spec = root, spec
        self.shards, self.episodes, self.frames = 0, 0, 0
        self._stats_frames = 0
        self._video_stats: dict[str, list[dict[str, Any]]] = {key: [] for key in spec.video_keys}
        while (path := shard_paths(root, spec, self.shards)["episodes"]).is_file():
            self._count(path)

    def commit(self, folder: Path) -> None:
        """Move in the next shard, as `ShardWriter` left it in ``folder``, and bring the meta files up to date."""
        staged, paths = staged_paths(folder, self.spec), shard_paths(self.root, self.spec, self.shards)
        _renumber(staged["data"], ("index",), self.frames)
        _renumber(staged["episodes"], ("dataset_from_index", "dataset_to_index"), self.frames)
        for part, path in paths.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            os.replace(staged[part], path)
        self._count(paths["episodes"])
        # Rewritten in full, so only when there is a good part more to tell: the cost stays linear.
        if self.frames >= 1.25 * self._stats_frames:
            self.write_stats()
        self.write_info()

    def write_info(self) -> None:
        """Write what says how much there is, and the contract."""
        if not (self.root / "meta" / "tasks.parquet").exists():
            _write_table(self.root / "meta" / "tasks.parquet", _tasks(self.spec.tasks))
            write_text(self.root / "meta" / "contract.json", self.spec.contract.to_json())
        write_text(self.root / "meta" / "info.json", json.dumps(self.spec.info(self.episodes, self.frames), indent=2))

    def write_stats(self) -> None:
        """Write the statistics of all that is there."""
        if not self.shards:
            return
        tables = [pq.read_table(shard_paths(self.root, self.spec, i)["data"]) for i in range(self.shards)]
        stats = table_stats(pa.concat_tables(tables))
        stats |= {key: merge_frame_stats(parts) for key, parts in self._video_stats.items()}
        write_text(self.root / "meta" / "stats.json", json.dumps(stats))
        self._stats_frames = self.frames

    def _count(self, path: Path) -> None:
        for row in pq.read_table(path).to_pylist():
            self.episodes += 1
            self.frames += row["length"]
            for key, parts in self._video_stats.items():
                prefix = f"stats/{key}/"
                parts.append({k.removeprefix(prefix): v for k, v in row.items() if k.startswith(prefix)})
        self.shards += 1


def _renumber(path: Path, names: tuple[str, ...], first: int) -> None:
    """Let the first of the columns ``names`` of a table begin at ``first``; one that does so already is left alone."""
    table = pq.read_table(path)
    missing = first - table.column(names[0])[0].as_py()
    if not missing:
        return
    for name in names:
        place = table.schema.get_field_index(name)
        table = table.set_column(place, table.field(place), pc.add(table.column(place), missing))
    temporary = path.with_name(f".{path.name}")
    write_shard_table(table, temporary)
    os.replace(temporary, path)


def write_text(path: Path, text: str) -> None:
    """Write a file that appears whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(text)
    os.replace(temporary, path)


def _write_table(path: Path, table: pa.Table) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    pq.write_table(table, temporary)
    os.replace(temporary, path)


def _tasks(tasks: tuple[str, ...]) -> pa.Table:
    """The table of tasks, whose pandas index is the task's text."""
    numbers = pa.array(range(len(tasks)), pa.int64())
    table = pa.table({"task_index": numbers, "__index_level_0__": pa.array(tasks)})
    columns = [
        {"name": n, "field_name": f, "pandas_type": p, "numpy_type": t, "metadata": None}
        for n, f, p, t in (
            ("task_index", "task_index", "int64", "int64"),
            (None, "__index_level_0__", "unicode", "object"),
        )
    ]
    pandas = {
        "index_columns": ["__index_level_0__"],
        "column_indexes": [],
        "columns": columns,
        "pandas_version": "2.0.0",
    }
    return table.replace_schema_metadata({b"pandas": json.dumps(pandas).encode()})
