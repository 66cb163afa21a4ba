"""LeRobot v3.0 folders that carry our contract, as the tools here write them; nothing is left to guess."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from world_model.data.lerobot.layout import ACTION, ENVIRONMENT_STATE, STATE, video_key
from world_model.data.lerobot.reader import read_dataset
from world_model.data.readers.base import AS_STORED, Numbers, Picture, Reader, View
from world_model.data.readers.damage import reading


class LeRobotReader(Reader):
    """See the module."""

    layout = "lerobot"
    summary = "LeRobot v3.0 with meta/contract.json, as simforcing collect writes it"
    scaled = "all"

    @classmethod
    def matches(cls, path: Path) -> bool:
        return (path / "meta" / "contract.json").is_file()

    def __init__(self, path: Path, view: View = AS_STORED) -> None:
        super().__init__(path, view)
        with reading(path / "meta" / "info.json"):
            self._dataset = read_dataset(path)
            self._tasks = self._dataset.tasks
            names = [f"{i} ({start})" if start else str(i) for i, start in enumerate(self._dataset.starts)]
            splits = next(iter(self._dataset.info.get("splits", {"": ""})))
        self._found(self._dataset.contract, names, [str(splits)] * len(names))

    @property
    def state_names(self) -> tuple[str, ...]:
        return self._dataset.state_names

    @property
    def label_names(self) -> tuple[str, ...]:
        features: dict[str, Any] = self._dataset.info["features"]
        return tuple(name.removeprefix("label.") for name in features if name.startswith("label."))

    def _file(self, index: int, camera: str = "") -> Path:
        row, info = self._dataset.row(index), self._dataset.info
        if not camera:
            place = {"chunk_index": row["data/chunk_index"], "file_index": row["data/file_index"]}
            return self.path / info["data_path"].format(**place)
        key = next(video_key(c) for c in self.stored.cameras if c.name == camera)
        place = {n: row[f"videos/{key}/{n}"] for n in ("chunk_index", "file_index")}
        return self.path / info["video_path"].format(video_key=key, **place)

    def _numbers(self, index: int) -> Numbers:
        columns = self._dataset.columns(index)
        actions = columns[ACTION].reshape(len(columns[ACTION]), self.contract.actions_per_frame, -1)
        task = int(columns["task_index"][0])
        return Numbers(
            actions[:-1],
            columns[STATE],
            self._tasks[task] if 0 <= task < len(self._tasks) else "",
            columns.get(ENVIRONMENT_STATE),
            {k.removeprefix("label."): np.asarray(v) for k, v in columns.items() if k.startswith("label.")},
            self._dataset.behaviours[index],
        )

    def _stream(self, index: int, camera: str) -> Iterator[Picture]:
        yield from self._dataset.pictures(index, next(c for c in self.stored.cameras if c.name == camera))
