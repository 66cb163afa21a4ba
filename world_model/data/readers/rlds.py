"""RLDS data sets of Open X-Embodiment: TFRecord shards beside ``features.json`` and ``dataset_info.json``.

A record is an episode, padded to T steps: the action of step t was taken at its observation, that of the last step
leads nowhere. Which features are pictures, actions and state is told by ``features.json``.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from world_model.contract import Camera, Dimension, GripperPolarity
from world_model.data.lerobot.video import LARGEST_SIDE, require_real_file
from world_model.data.readers.base import AS_STORED, Numbers, Picture, Reader, View
from world_model.data.readers.damage import reading, refuse
from world_model.data.readers.parts import AXES, HALF_TURN, TURNS, bounded, dimensions
from world_model.data.readers.tfrecord import Feature, parse_example, read_record, record_places

SHARD = re.compile(r"^(?P<name>.+)-(?P<split>[^-]+)\.tfrecord-(?P<shard>\d{5})-of-(?P<shards>\d{5})$")
FRAME_PREFIX = "observation/"
UNKNOWN_HZ = 5.0
UNUSED = ("observation/", "action", "language_instruction", "is_first", "reward")


@dataclass(frozen=True)
class Robot:
    """Rates and units of a published data set, which its files do not tell."""

    hz: float
    actions: tuple[Dimension, ...]
    state: tuple[Dimension, ...]
    gripper: GripperPolarity = "none"


BRIDGE = Robot(
    5.0,
    (
        *dimensions([f"move_{a}" for a in AXES], "m", 1.0, "relative"),
        *dimensions([f"turn_{t}" for t in TURNS], "rad", HALF_TURN, "relative"),
        Dimension("gripper", "share", 0.0, 1.0),
    ),
    (
        *dimensions(AXES, "m", 2.0),
        *dimensions(TURNS, "rad", HALF_TURN),
        Dimension("gripper", "share", -0.1, 1.1),
    ),
    "plus_opens",
)
ROBOTS = {"bridge_dataset": BRIDGE, "bridge": BRIDGE}
"""By the name of the data set."""


class RldsReader(Reader):
    """See the module."""

    layout = "rlds"
    summary = "RLDS (Open X-Embodiment): NAME-SPLIT.tfrecord-00000-of-00001 beside features.json"

    @classmethod
    def matches(cls, path: Path) -> bool:
        return (path / "features.json").is_file() or any(path.glob("*.tfrecord-*"))

    def __init__(self, path: Path, view: View = AS_STORED) -> None:
        super().__init__(path, view)
        self._leaves = _leaves(path / "features.json")
        shards = _shards(path)
        found = [(file, place, split) for file, split in shards for place in record_places(file)]
        self._places, splits = [(file, place) for file, place, _ in found], [split for *_, split in found]
        self._example = lru_cache(maxsize=2)(self._read_example)
        name = _check_counts(path, shards, splits)
        images = {k: shape for k, (kind, shape) in self._leaves.items() if kind == "image"}
        absurd = [k for k, s in images.items() if len(s) != 3 or not all(0 < n <= LARGEST_SIDE for n in s)]
        if absurd:
            raise refuse(path / "features.json", "", f"describes pictures {absurd[0]} of {images[absurd[0]]}")
        cameras = [
            Camera(key.removeprefix(FRAME_PREFIX), shape[0], shape[1])
            for key, (kind, shape) in sorted(self._leaves.items())
            if kind == "image" and key.startswith(FRAME_PREFIX)
        ]
        self._actions = [k for k in self._leaves if k == "action" or k.startswith("action/")]
        if not cameras or not self._actions:
            raise refuse(path / "features.json", "", "describes no pictures of observations or no action")
        self._state = "observation/state" if "observation/state" in self._leaves else ""
        width = sum(_width(self._leaves[key][1]) for key in self._actions)
        state = _width(self._leaves[self._state][1]) if self._state else 0
        robot = ROBOTS.get(name)
        if robot is None or (len(robot.actions), len(robot.state)) != (width, state):
            self.warn(f"{name!r} is of no robot known here; its rate of {UNKNOWN_HZ:g} Hz and its units are guesses")
            robot = Robot(
                UNKNOWN_HZ,
                dimensions([f"action_{i}" for i in range(width)], "", 10.0),
                dimensions([f"state_{i}" for i in range(state)], "", 10.0),
            )
        others = [k for k in self._leaves if k not in self._actions and k != self._state and not k.startswith(UNUSED)]
        if others:
            self.warn(f"not read from the steps: {', '.join(sorted(others))}")
        self.warn("the action of an episode's last step leads to no frame and is left out")
        names = [f"{split}-{i}" for i, split in enumerate(splits)]
        self._found(bounded(name, cameras, robot.hz, robot.actions, robot.state, robot.gripper), names, splits)

    @property
    def label_names(self) -> tuple[str, ...]:
        return ("reward",) if "reward" in self._leaves else ()

    def _file(self, index: int, camera: str = "") -> Path:
        return self._places[index][0]

    def _read_example(self, index: int) -> dict[str, Feature]:
        file, place = self._places[index]
        with reading(file, self.names[index]):
            return parse_example(read_record(file, place))

    def _numbers(self, index: int) -> Numbers:
        example, path, name = self._example(index), self._file(index), self.names[index]
        length = len(_get(example, "steps/is_first"))
        actions = np.concatenate([self._table(example, key, length) for key in self._actions], axis=1)
        proprio = self._table(example, self._state, length) if self._state else np.zeros((length, 0), np.float32)
        texts = example.get("steps/language_instruction", [b""])
        task = texts[0].decode(errors="replace") if isinstance(texts, list) and texts else ""
        for key, values in example.items():
            if key.startswith("episode_metadata/has_image") and not np.asarray(values).any():
                camera = f"image_{key.rpartition('_')[2]}"
                if camera in [c.name for c in self.stored.cameras]:
                    self.warn(f"{key} is false although pictures of {camera} are there; they are read")
        labels = {}
        if "reward" in self._leaves:
            reward = np.asarray(_get(example, "steps/reward"), np.float32)
            if len(reward) != length:
                raise refuse(path, name, f"has {len(reward)} rewards in {length} steps")
            labels["reward"] = reward
        return Numbers(actions[:-1, None], proprio, task, labels=labels)

    def _table(self, example: Mapping[str, Feature], key: str, length: int) -> NDArray[np.float32]:
        values = np.asarray(_get(example, f"steps/{key}"), np.float32)
        return values.reshape(length, _width(self._leaves[key][1]))

    def _stream(self, index: int, camera: str) -> Iterator[Picture]:
        from PIL import Image

        for picture in _get(self._example(index), f"steps/{FRAME_PREFIX}{camera}"):
            with Image.open(io.BytesIO(picture)) as image:
                yield np.asarray(image.convert("RGB"))


def _get(example: Mapping[str, Feature], key: str) -> Feature:
    if key not in example:
        raise KeyError(f"no feature {key!r}")
    return example[key]


def _leaves(path: Path) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Kind and shape of every feature of a step, by its name."""
    with reading(path):
        require_real_file(path)
        steps = json.loads(path.read_text(encoding="utf-8"))["featuresDict"]["features"]["steps"]
        return dict(_walk(steps["sequence"]["feature"], ""))


def _walk(feature: Mapping[str, Any], name: str) -> Iterator[tuple[str, tuple[str, tuple[int, ...]]]]:
    if "featuresDict" in feature:
        for key, inner in feature["featuresDict"]["features"].items():
            yield from _walk(inner, f"{name}/{key}" if name else key)
        return
    kind = next((k for k in ("image", "tensor", "text") if k in feature), "other")
    shape = feature[kind].get("shape", {}).get("dimensions", []) if kind != "other" else []
    yield name, (kind, tuple(int(n) for n in shape))


def _width(shape: tuple[int, ...]) -> int:
    return int(np.prod(shape, dtype=int)) if shape else 1


def _shards(path: Path) -> list[tuple[Path, str]]:
    """Files and splits, in their order; a shard that is missing is told."""
    found: dict[tuple[str, str, str], list[Path]] = {}
    for file in sorted(path.glob("*.tfrecord-*")):
        if match := SHARD.match(file.name):
            found.setdefault((match["name"], match["split"], match["shards"]), []).append(file)
    for (name, split, shards), files in found.items():
        if len(files) != int(shards):
            raise refuse(path, "", f"holds {len(files)} of the {int(shards)} shards of {name}-{split}", "copy the rest")
    if not found:
        raise refuse(path, "", "holds no file NAME-SPLIT.tfrecord-00000-of-00001", "copy the set again")
    return [(file, split) for (_, split, _), files in sorted(found.items()) for file in files]


def _check_counts(path: Path, shards: list[tuple[Path, str]], splits: list[str]) -> str:
    """Hold the records against ``dataset_info.json`` where it is there; returns the data set's name."""
    info = path / "dataset_info.json"
    match = SHARD.match(shards[0][0].name)
    name = match["name"] if match else path.name
    if not info.is_file():
        return name
    with reading(info):
        loaded = json.loads(info.read_text(encoding="utf-8"))
        name = str(loaded.get("name", name))
        told = {str(s["name"]): sum(int(n) for n in s.get("shardLengths", [])) for s in loaded.get("splits", [])}
    for split, count in told.items():
        if count != splits.count(split):
            raise refuse(info, "", f"tells of {count} episodes of {split} but the files hold {splits.count(split)}")
    return name
