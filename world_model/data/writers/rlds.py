"""Writer of RLDS: one TFRecord shard for each split, with pictures as PNG, and the two JSON files beside them."""

from __future__ import annotations

import io
import json
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from world_model.data.episode import Episode
from world_model.data.lerobot.writer import write_text
from world_model.data.readers.tfrecord import Feature, build_example, frame_record
from world_model.data.writers.base import Writer, padded

PYTHON = "tensorflow_datasets.core.features."
VERSION = "1.0.0"


class RldsWriter(Writer):
    """A step for each frame; the last one repeats the action before it."""

    layout = "rlds"
    keeps_labels = ("reward",)

    def _refuse_unfit(self) -> None:
        self._counts: dict[str, int] = {}
        self._bytes: dict[str, int] = {}
        self._files: dict[str, IO[bytes]] = {}
        frame_record(b"")  # tells of a missing package before anything is written

    def _add(self, episode: Episode, name: str, split_name: str) -> None:
        part, length = split_name or "train", len(episode)
        ends, zero = np.arange(length) == length - 1, np.zeros(length, np.int64)
        reward = episode.labels.get("reward", np.zeros(length, np.float32))
        steps: dict[str, Feature] = {
            "action": padded(episode.actions).ravel(),
            "discount": np.ones(length, np.float32),
            "is_first": (np.arange(length) == 0).astype(np.int64),
            "is_last": ends.astype(np.int64),
            "is_terminal": zero,
            "language_instruction": [self.origin.tasks[episode.task].encode()] * length,
            "reward": np.asarray(reward, np.float32),
        }
        if self.has_proprio:
            steps["observation/state"] = episode.proprio.astype(np.float32).ravel()
        for camera, frames in self._pictures(episode).items():
            steps[f"observation/{camera}"] = [_png(frame) for frame in frames]
        features = {f"steps/{key}": values for key, values in steps.items()}
        record = frame_record(build_example({**features, "episode_metadata/file_path": [name.encode()]}))
        if part not in self._files:
            self._files[part] = (self.folder / self._shard(part)).open("wb")
        self._files[part].write(record)
        self._counts[part] = self._counts.get(part, 0) + 1
        self._bytes[part] = self._bytes.get(part, 0) + len(record)

    def close(self) -> None:
        for file in self._files.values():
            file.close()
        splits = [
            {
                "filepathTemplate": "{DATASET}-{SPLIT}.{FILEFORMAT}-{SHARD_X_OF_Y}",
                "name": part,
                "numBytes": str(self._bytes[part]),
                "shardLengths": [str(count)],
            }
            for part, count in self._counts.items()
        ]
        info = {"name": self.contract.name, "version": VERSION, "fileFormat": "tfrecord", "splits": splits}
        write_text(self.folder / "dataset_info.json", json.dumps(info, indent=2))
        write_text(self.folder / "features.json", json.dumps(self._features(), indent=2))

    def _shard(self, part: str) -> str:
        return f"{self.contract.name}-{part}.tfrecord-00000-of-00001"

    def _features(self) -> dict[str, Any]:
        contract = self.contract
        seen: dict[str, Any] = {c.name: _image(c.height, c.width) for c in contract.cameras}
        if self.has_proprio:
            seen["state"] = _tensor("float32", contract.proprio_dim)
        step = {
            "action": _tensor("float32", contract.actions_per_frame * contract.action_dim),
            "language_instruction": {"pythonClassName": f"{PYTHON}text_feature.Text", "text": {}},
            "observation": _mapping(seen),
            **{name: _tensor("float32") for name in ("discount", "reward")},
            **{name: _tensor("bool") for name in ("is_first", "is_last", "is_terminal")},
        }
        path = {"pythonClassName": f"{PYTHON}text_feature.Text", "text": {}}
        steps = {
            "pythonClassName": f"{PYTHON}dataset_feature.Dataset",
            "sequence": {"feature": _mapping(step), "length": "-1"},
        }
        return _mapping({"steps": steps, "episode_metadata": _mapping({"file_path": path})})


def _mapping(features: dict[str, Any]) -> dict[str, Any]:
    return {"pythonClassName": f"{PYTHON}features_dict.FeaturesDict", "featuresDict": {"features": features}}


def _tensor(dtype: str, width: int | None = None) -> dict[str, Any]:
    shape = {} if width is None else {"dimensions": [str(width)]}
    kind = "scalar.Scalar" if width is None else "tensor_feature.Tensor"
    return {"pythonClassName": PYTHON + kind, "tensor": {"shape": shape, "dtype": dtype, "encoding": "none"}}


def _image(height: int, width: int) -> dict[str, Any]:
    shape = {"dimensions": [str(height), str(width), "3"]}
    return {
        "pythonClassName": f"{PYTHON}image_feature.Image",
        "image": {"shape": shape, "dtype": "uint8", "encodingFormat": "png"},
    }


def _png(frame: NDArray[np.uint8]) -> bytes:
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(frame).save(buffer, "PNG")
    return buffer.getvalue()
