"""What stands where in a LeRobot v3.0 folder, and what its columns mean.

An episode of n transitions has n + 1 rows. Row i holds observation i, the truth about it
(``label.*``, ``observation.environment_state``) and the action that leads to row i + 1 with what comes
of it (``next.*``). The last row has no action of its own: it repeats the last one, with ``action_is_pad``.
Every camera has a video of its own; in memory they are one canvas (`world_model.canvas`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from world_model.contract import Camera, Contract

VERSION = "v3.0"
FILES_PER_CHUNK = 1000
DATA_PATH = "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
VIDEO_PATH = "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4"
EPISODES_PATH = "meta/episodes/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
STATE, ENVIRONMENT_STATE, ACTION = "observation.state", "observation.environment_state", "action"
SIMULATION = "simulation.state"  # not an observation: libraries hand those to policies
BOOKKEEPING = {
    "timestamp": "float32",
    "frame_index": "int64",
    "episode_index": "int64",
    "index": "int64",
    "task_index": "int64",
}


@dataclass(frozen=True)
class DatasetSpec:
    """What a data set holds; the same for all its episodes."""

    contract: Contract
    state_names: tuple[str, ...] = ()
    """Privileged numbers of the teacher, in the order of ``Episode.state``."""
    label_names: tuple[str, ...] = ()
    """Keys of ``Episode.labels``; "reward" and "success" also give the ``next.`` columns."""
    tasks: tuple[str, ...] = ("",)
    """Sentences that say what the episodes are about; ``Episode.task`` is a number of one."""
    robot: str = "unknown"
    split: str = "train"
    seed: int = 0
    """Seed of the recording, kept in the table of episodes."""
    simulation_width: int = 0
    """Columns of ``Episode.simulation``, 0 if it is not kept."""

    @property
    def video_keys(self) -> tuple[str, ...]:
        """Feature of each camera, in the contract's order."""
        return tuple(video_key(camera) for camera in self.contract.cameras)

    @property
    def action_width(self) -> int:
        """Numbers of a row's action: all actions of the frame, one behind the other."""
        return self.contract.actions_per_frame * self.contract.action_dim

    def features(self) -> dict[str, dict[str, Any]]:
        """The ``features`` of ``meta/info.json``."""
        contract = self.contract
        names = [d.name for d in contract.actions]
        if contract.actions_per_frame > 1:
            names = [f"{name}_{i}" for i in range(contract.actions_per_frame) for name in names]
        features = {
            **{video_key(camera): _video(camera, contract.frame_hz) for camera in contract.cameras},
            STATE: _feature("float32", len(contract.proprio), [d.name for d in contract.proprio]),
            ACTION: _feature("float32", self.action_width, names),
            "action_is_pad": _feature("bool"),
            "next.done": _feature("bool"),
        }
        if self.state_names:
            features[ENVIRONMENT_STATE] = _feature("float32", len(self.state_names), list(self.state_names))
        if self.simulation_width:
            features[SIMULATION] = _feature("float64", self.simulation_width)
        if "reward" in self.label_names:
            features["next.reward"] = _feature("float32")
        if "success" in self.label_names:
            features["next.success"] = _feature("bool")
        features |= {f"label.{name}": _feature("float32") for name in self.label_names}
        return features | {name: _feature(dtype) for name, dtype in BOOKKEEPING.items()}

    def schema(self) -> pa.Schema:
        """Columns of the data files: every feature but the video."""
        return pa.schema([(name, _arrow_type(f)) for name, f in self.features().items() if f["dtype"] != "video"])

    def info(self, episodes: int, frames: int) -> dict[str, Any]:
        """``meta/info.json`` of a data set of so many episodes and frames."""
        fps = self.contract.frame_hz
        return {
            "codebase_version": VERSION,
            "robot_type": self.robot,
            "total_episodes": episodes,
            "total_frames": frames,
            "total_tasks": len(self.tasks),
            "chunks_size": FILES_PER_CHUNK,
            "data_files_size_in_mb": 100,
            "video_files_size_in_mb": 200,
            "fps": int(fps) if fps == int(fps) else fps,
            "splits": {self.split: f"0:{episodes}"},
            "data_path": DATA_PATH,
            "video_path": VIDEO_PATH,
            "features": self.features(),
        }


def file_place(shard: int) -> dict[str, int]:
    """``chunk_index`` and ``file_index`` of the n-th file."""
    return {"chunk_index": shard // FILES_PER_CHUNK, "file_index": shard % FILES_PER_CHUNK}


def video_key(camera: Camera) -> str:
    """Feature of a camera."""
    return f"observation.images.{camera.name}"


def shard_paths(root: Path, spec: DatasetSpec, shard: int) -> dict[str, Path]:
    """Final places of a shard's files, in the order in which they must come: "data", each video key, "episodes"."""
    place: Mapping[str, Any] = file_place(shard)
    return {
        "data": root / DATA_PATH.format(**place),
        **{key: root / VIDEO_PATH.format(video_key=key, **place) for key in spec.video_keys},
        "episodes": root / EPISODES_PATH.format(**place),
    }


def staged_paths(folder: Path, spec: DatasetSpec) -> dict[str, Path]:
    """Places of the same files before they are moved into the data set."""
    return {
        "data": folder / "data.parquet",
        **{key: folder / f"{key}.mp4" for key in spec.video_keys},
        "episodes": folder / "episodes.parquet",
    }


def _feature(dtype: str, width: int = 1, names: list[str] | None = None) -> dict[str, Any]:
    return {"dtype": dtype, "shape": [width], "names": names}


def _video(camera: Camera, fps: float) -> dict[str, Any]:
    return {
        "dtype": "video",
        "shape": [camera.height, camera.width, 3],
        "names": ["height", "width", "channels"],
        "info": {
            "video.fps": fps,
            "video.height": camera.height,
            "video.width": camera.width,
            "video.channels": 3,
            "video.codec": "h264",
            "video.pix_fmt": "gbrp",
            "video.is_depth_map": False,
            "has_audio": False,
        },
    }


def _arrow_type(feature: Mapping[str, Any]) -> pa.DataType:
    plain = getattr(pa, {"bool": "bool_"}.get(feature["dtype"], feature["dtype"]))()
    width = feature["shape"][0]
    return plain if feature["names"] is None and width == 1 else pa.list_(plain, width)
