"""IRASim's folders: ``annotation/SPLIT/*.json`` beside ``videos`` and ``latent_videos``; Ctrl-World's DROID lies alike.

What an annotation means is told by its fields (`VARIANTS`). Actions of arms are not stored: they follow from the poses
by `relative_poses`. IRASim multiplies actions by 20 before the network sees them; here that is the contract's
normaliser, which maps 5 cm and 0.05 rad to 1.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from world_model.contract import Camera, Dimension, GripperPolarity
from world_model.data.lerobot.video import VideoReader, require_real_file
from world_model.data.readers.base import AS_STORED, Numbers, Picture, Reader, View
from world_model.data.readers.damage import reading, refuse
from world_model.data.readers.parts import AXES, HALF_TURN, TURNS, bounded, dimensions, rows, single
from world_model.data.readers.poses import relative_poses

SPLITS = ("train", "val", "test")
SCALE = 20.0
"""What IRASim multiplies actions with."""
PUBLISHED_HZ = 4.0
"""IRASim's videos, whatever the robot's rate was."""
FARTHEST = 2.0  # m
OPENS_AT_1: GripperPolarity = "plus_opens"
"""Of Bridge, whose annotations look like RT-1's."""
POSE = (
    *dimensions(AXES, "m", FARTHEST),
    *dimensions(TURNS, "rad", HALF_TURN),
    Dimension("gripper", "share", 0.0, 1.0),
)
MOVES = (
    *dimensions([f"move_{a}" for a in AXES], "m", 1.0, "relative"),
    *dimensions([f"turn_{t}" for t in TURNS], "rad", HALF_TURN, "relative"),
    Dimension("gripper", "share", 0.0, 1.0),
)
PLANE = dimensions(("move_x", "move_y"), "m", 1.0, "relative")


@dataclass(frozen=True)
class Variant:
    """What one kind of annotation holds."""

    fields: tuple[str, ...]
    """An annotation that has all of these is of this kind."""
    actions: tuple[Dimension, ...]
    proprio: tuple[Dimension, ...]
    scale: tuple[float, ...]
    gripper: GripperPolarity = "none"


_ARM_SCALE = (*[1 / SCALE] * 6, 1.0)
VARIANTS = (
    Variant(("state", "continuous_gripper_state"), MOVES, POSE, _ARM_SCALE, "plus_closes"),
    Variant(("states",), MOVES, POSE, _ARM_SCALE, "plus_closes"),
    Variant(("actions",), PLANE, (), (1 / SCALE,) * 2),
)
"""RT-1 and Bridge; DROID as Ctrl-World has it; Language-Table."""


class IrasimReader(Reader):
    """See the module."""

    layout = "irasim"
    summary = "IRASim (RT-1, Bridge, Language-Table) and Ctrl-World (DROID): annotation/SPLIT/*.json, videos, latents"
    scaled = "actions"

    @classmethod
    def matches(cls, path: Path) -> bool:
        return (path / "annotation").is_dir()

    def __init__(self, path: Path, view: View = AS_STORED) -> None:
        super().__init__(path, view)
        found = [(f, split) for split in SPLITS for f in _annotations(path / "annotation" / split)]
        self._files = [file for file, _ in found]
        self._annotation = lru_cache(maxsize=4)(_read_annotation)
        if not found:
            raise refuse(path / "annotation", "", f"holds no annotation of {', '.join(SPLITS)}", "check the path")
        name = _name(path, self._files[0])
        first = self._annotation(self._files[0], name)
        self._variant = _variant(first, self._files[0], name)
        videos = _videos(first, self._files[0], name)
        cameras, rates = [], []
        for number, place in enumerate(videos):
            with reading(path / place, name):
                video = VideoReader(path / place)
                cameras.append(Camera(f"camera_{number}", *video.size))
                rates.append(video.fps)
                video.close()
        hz = rates[0] if rates else PUBLISHED_HZ
        if abs(hz - PUBLISHED_HZ) < 0.01:
            self.warn(f"{hz:g} frames/s is what the videos say, as IRASim's exporter writes whatever the robot's rate")
        v = self._variant
        world = path.resolve().name
        gripper = OPENS_AT_1 if "bridge" in world and v.gripper != "none" else v.gripper
        if v.gripper != "none" and view.gripper is None:
            self.warn(f"no file says what the gripper's 1 means; by the folder's name {world!r} it is {gripper}")
        if first.get("latent_videos"):
            self.warn("stored latents are read by `IrasimReader.latents` alone: conversions leave them out")
        contract = bounded(world, cameras, hz, v.actions, v.proprio, gripper, v.scale)
        self._found(contract, [_name(path, f) for f in self._files], [split for _, split in found])

    def annotation(self, index: int) -> Mapping[str, Any]:
        """The annotation of an episode as it stands in its file."""
        return self._annotation(self._files[index], self.names[index])

    def latents(self, index: int, camera: int = 0) -> NDArray[np.float32]:
        """Stored latents ``(T, C, h, w)`` of a camera; a dict ``{"obs": ...}`` and a bare tensor are both read.

        Raises:
            DataError: there are none, or they are damaged or of another length than the numbers.
        """
        name, path = self.names[index], self._latent_file(index, camera)
        with reading(path, name):
            require_real_file(path)
            latents = _load_tensor(path)
        if latents.ndim != 4 or len(latents) != len(self.numbers(index)) or not np.isfinite(latents).all():
            raise refuse(path, name, f"holds latents {latents.shape} for {len(self.numbers(index))} frames")
        return latents

    def has_latents(self, index: int, camera: int = 0) -> bool:
        """Whether latents of a camera are there (errors as of the annotation)."""
        return self._latent_file(index, camera).is_file()

    def _latent_file(self, index: int, camera: int) -> Path:
        annotation = self.annotation(index)
        with reading(self._files[index], self.names[index]):
            if "latent_video_path" in annotation:
                return self.path / str(annotation["latent_video_path"])
            places = [str(entry["latent_video_path"]) for entry in annotation.get("latent_videos", [])]
            return self.path / (places[camera] if camera < len(places) else "latent_videos/none")

    def _file(self, index: int, camera: str = "") -> Path:
        if not camera:
            return self._files[index]
        number = int(camera.rpartition("_")[2])
        videos = _videos(self.annotation(index), self._files[index], self.names[index])
        if number >= len(videos):
            raise refuse(self._files[index], self.names[index], f"names {len(videos)} videos, no {camera}")
        return self.path / videos[number]

    def _numbers(self, index: int) -> Numbers:
        annotation, path, name = self.annotation(index), self._files[index], self.names[index]
        if any(field not in annotation for field in self._variant.fields):
            raise refuse(path, name, f"lacks {self._variant.fields[0]}, which other episodes have")
        texts = annotation.get("texts") or [annotation.get("instruction", "")]
        task = str(texts[0])
        if not task:
            self.warn(f"episode {name} has an empty instruction")
        if "actions" in self._variant.fields:
            actions = rows(annotation["actions"])
            return Numbers(single(actions), np.zeros((len(actions) + 1, 0), np.float32), task)
        poses = self._poses(annotation)
        for key in ("video_length", "state_length"):
            if key in annotation and annotation[key] != len(poses):
                self.warn(f"episode {name}: {key} is {annotation[key]} but there are {len(poses)} states, which count")
        kept = {"texts", "states", "state", "continuous_gripper_state", "videos", "latent_videos", "episode_id"}
        others = sorted(key for key, value in annotation.items() if isinstance(value, list) and key not in kept)
        if others:
            self.warn(f"not read from annotations: {', '.join(others)}")
        return Numbers(single(relative_poses(poses)), poses, task)

    def _poses(self, annotation: Mapping[str, Any]) -> NDArray[np.float32]:
        poses = rows(annotation[self._variant.fields[0]])
        if "continuous_gripper_state" in annotation:
            gripper = np.asarray(annotation["continuous_gripper_state"], np.float32).reshape(-1, 1)
            poses = np.concatenate([poses[:, :6], gripper], axis=1)
        if poses.shape[1] != len(POSE):
            raise ValueError(f"poses have {poses.shape[1]} numbers, not {len(POSE)}")
        return poses

    def _stream(self, index: int, camera: str) -> Iterator[Picture]:
        return VideoReader(self._file(index, camera)).stream()


def _annotations(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.json"), key=lambda p: (len(p.stem), p.stem))


def _name(root: Path, file: Path) -> str:
    return str(file.relative_to(root / "annotation").with_suffix(""))


def _read_annotation(path: Path, name: str) -> dict[str, Any]:
    with reading(path, name):
        require_real_file(path)
        loaded = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(loaded, dict):
            raise ValueError(f"a {type(loaded).__name__} in the place of an object")
        return loaded


def _variant(annotation: Mapping[str, Any], path: Path, name: str) -> Variant:
    for variant in VARIANTS:
        if all(field in annotation for field in variant.fields):
            return variant
    known = "; ".join(" and ".join(v.fields) for v in VARIANTS)
    raise refuse(path, name, f"has the fields {', '.join(annotation)} but none of the known ones ({known})")


def _videos(annotation: Mapping[str, Any], path: Path, name: str) -> list[str]:
    with reading(path, name):
        if "video_path" in annotation:
            return [str(annotation["video_path"])]
        places = [str(entry["video_path"]) for entry in annotation["videos"]]
        if not places:
            raise ValueError("no video is named")
        return places


def _load_tensor(path: Path) -> NDArray[np.float32]:
    import pickle

    import torch

    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:  # torch itself does not look at the checksums
            if (damaged := archive.testzip()) is not None:
                raise ValueError(f"{damaged} in it does not match its checksum")
    try:
        loaded = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise ValueError(f"it is more than tensors: {str(error).splitlines()[0]}") from error
    tensor = loaded["obs"] if isinstance(loaded, dict) else loaded
    return np.asarray(tensor.float().numpy(), np.float32)
