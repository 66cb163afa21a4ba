"""Pairs from elsewhere: videos of the simulator and of reality that follow the same actions, named line by line.

A folder holds ``contract.json`` (ours: camera, rates, dimensions, normaliser) and ``pairs.jsonl``, one episode a line::

    {"frames": 38, "arrays": "data/0.npz", "side_by_side": "videos/0.mp4", "task": "put the spoon in the pot",
     "text": "text/0.safetensors"}
    {"frames": 212, "arrays": "data/chunk-000/episode_000000.parquet", "sim": "sim/0.mp4", "real": "real/0.mp4"}

- ``side_by_side``: one video with the simulator on the left and reality on the right (Bridge with SimplerEnv's
  renders, in the layout of SimForcing's public code); or ``sim`` and ``real``: a video each (InternData-A1 and what was
  rendered for it). Their frame i is observation i; ``sim_first`` and ``real_first`` say where an episode begins in a
  video that holds several, as LeRobot v3.0 has them. Pictures of another size are resized to the contract's camera.
- ``arrays``: ``action`` and ``state`` in an ``.npz``, or the columns ``action`` and ``observation.state`` of a LeRobot
  ``.parquet``; a row for each frame, in the contract's units. The last action leads nowhere. Of a parquet file that
  holds several episodes, ``row`` is the first row.
- ``text``: optional, the tensor ``text`` ``(L, E)`` of an embedded prompt, the same L for all; ``task`` is its words.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from world_model.checkpoint import read_tensors
from world_model.contract import Contract
from world_model.data.lerobot.video import VideoReader, require_real_file
from world_model.errors import DataError, SimforcingError
from world_model.rules import TEXT, Rule, Whole, follow_all, or_none, refuse_unknown

MANIFEST = "pairs.jsonl"
CONTRACT = "contract.json"
Side = Literal["sim", "real"]
_PLACE = Whole(0, 10**9)
FIELDS: Mapping[str, Rule] = MappingProxyType(
    {
        "frames": Whole(2, 10**7),
        "arrays": TEXT,
        **dict.fromkeys(("side_by_side", "sim", "real", "task", "text"), or_none(TEXT)),
        **dict.fromkeys(("sim_first", "real_first", "row"), or_none(_PLACE)),
    }
)
"""Of a line."""


@dataclass(frozen=True)
class PairedVideos:
    """A line of the manifest; paths are relative to its folder."""

    frames: int
    arrays: str
    side_by_side: str | None = None
    sim: str | None = None
    real: str | None = None
    sim_first: int | None = None
    real_first: int | None = None
    row: int | None = None
    task: str | None = None
    text: str | None = None

    def video(self, side: Side) -> tuple[str, int]:
        """File, and the number of its frame that is observation 0."""
        own = self.sim if side == "sim" else self.real
        first = self.sim_first if side == "sim" else self.real_first
        return self.side_by_side or str(own), first or 0


class PairManifest(Sequence[PairedVideos]):
    """The episodes of a folder; every line is checked when it is opened, files when they are read.

    Raises:
        DataError: a file is missing, or a line is wrong, named by its number.
        ContractError: the contract is wrong.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in (MANIFEST, CONTRACT):
            require_real_file(folder / name)
        self.contract = Contract.from_json((folder / CONTRACT).read_text(encoding="utf-8"))
        if len(self.contract.cameras) != 1 or self.contract.actions_per_frame != 1:
            raise DataError(
                f"{folder / CONTRACT} has {len(self.contract.cameras)} cameras and {self.contract.actions_per_frame} "
                "actions a frame but a manifest's videos are of one camera with an action for each frame; correct it"
            )
        lines = (folder / MANIFEST).read_text(encoding="utf-8").splitlines()
        self.entries = [_entry(line, f"line {n} of {folder / MANIFEST}") for n, line in enumerate(lines, 1) if line]
        if not self.entries:
            raise DataError(f"{folder / MANIFEST} names no episode; write a line for each")

    def __len__(self) -> int:
        return len(self.entries)

    def __getitem__(self, index: Any) -> Any:
        return self.entries[index]

    def arrays(self, entry: PairedVideos) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Proprio ``(T, P)`` and actions ``(T, A)`` of an episode, in units.

        Raises:
            DataError: they are missing, of another size, or not finite.
        """
        path = self._inside(entry.arrays)
        require_real_file(path)
        read = _READERS.get(path.suffix)
        if read is None:
            raise DataError(f"{path} is none of {', '.join(_READERS)}; convert it")
        try:
            action, state = read(path, entry)
        except (OSError, ValueError, KeyError, pa.ArrowException) as error:
            raise DataError(
                f"{path} holds no actions and states to read ({error}); see the manifest's format"
            ) from error
        for name, found, width in (
            ("state", state, self.contract.proprio_dim),
            ("action", action, self.contract.action_dim),
        ):
            if found.shape != (entry.frames, width) or not np.isfinite(found).all():
                raise DataError(
                    f"{name} of {path} has shape {found.shape} but must be finite numbers of shape "
                    f"{(entry.frames, width)}, a row for each frame; correct the manifest or the file"
                )
        return state.astype(np.float32), action.astype(np.float32)

    def read(self, entry: PairedVideos, side: Side, first: int, count: int) -> NDArray[np.uint8]:
        """Observations ``first`` to ``first + count`` (exclusive) of a side, ``(count, H, W, 3)`` RGB.

        Raises:
            DataError: the video is missing, damaged or too short.
        """
        name, begin = entry.video(side)
        reader = VideoReader(self._inside(name))
        try:
            frames = reader.read(begin + first, count)
        finally:
            reader.close()
        if entry.side_by_side is not None:
            half = frames.shape[2] // 2
            frames = frames[:, :, :half] if side == "sim" else frames[:, :, half:]
        camera = self.contract.cameras[0]
        if frames.shape[1:3] == (camera.height, camera.width):
            return np.ascontiguousarray(frames)
        pictures = torch.from_numpy(np.ascontiguousarray(frames)).movedim(-1, 1).float()
        sized = F.interpolate(pictures, (camera.height, camera.width), mode="bilinear", antialias=True)
        resized: NDArray[np.uint8] = sized.round().clamp(0, 255).to(torch.uint8).movedim(1, -1).contiguous().numpy()
        return resized

    def text(self, entry: PairedVideos) -> Tensor | None:
        """Embedded prompt ``(L, E)``, if the line names one.

        Raises:
            DataError: the file is not what it should be.
        """
        if entry.text is None:
            return None
        path = self._inside(entry.text)
        found = read_tensors(path)[0].get("text")
        if found is None or found.ndim != 2:
            raise DataError(f"{path} holds no tensor 'text' of shape (L, E); embed the prompt anew")
        return found

    def _inside(self, name: str) -> Path:
        return self.folder / name


def write_manifest(folder: Path, contract: Contract, entries: Sequence[PairedVideos]) -> None:
    """Write ``contract.json`` and ``pairs.jsonl`` beside videos and arrays that are there."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / CONTRACT).write_text(contract.to_json() + "\n", encoding="utf-8")
    lines = [json.dumps({k: v for k, v in vars(entry).items() if v is not None}) for entry in entries]
    (folder / MANIFEST).write_text("\n".join(lines) + "\n", encoding="utf-8")


def _entry(line: str, where: str) -> PairedVideos:
    try:
        values = json.loads(line)
    except ValueError as error:
        raise DataError(f"{where} is no JSON ({error}); correct it") from error
    if not isinstance(values, dict):
        raise DataError(f"{where} holds a JSON {type(values).__name__}, not an object; correct it")
    try:
        refuse_unknown(values, FIELDS, "field")
        entry = PairedVideos(**follow_all(FIELDS, values))
    except SimforcingError as error:
        raise DataError(f"{where}: {error}") from error
    separate = entry.sim is not None and entry.real is not None
    if separate == (entry.side_by_side is not None) or (entry.sim is None) != (entry.real is None):
        raise DataError(f"{where} must name either side_by_side or both sim and real; correct it")
    for name in (entry.arrays, entry.side_by_side, entry.sim, entry.real, entry.text):
        if name is not None and (Path(name).is_absolute() or ".." in Path(name).parts):
            raise DataError(f"{where} names {name!r}, which is not inside its folder; move or link the file there")
    return entry


def _npz(path: Path, entry: PairedVideos) -> tuple[NDArray[Any], NDArray[Any]]:
    with np.load(path) as arrays:
        row = entry.row or 0
        return arrays["action"][row : row + entry.frames], arrays["state"][row : row + entry.frames]


def _parquet(path: Path, entry: PairedVideos) -> tuple[NDArray[Any], NDArray[Any]]:
    table = pq.read_table(path, columns=["action", "observation.state"]).slice(entry.row or 0, entry.frames)
    action, state = (np.array(table[name].to_pylist(), np.float64) for name in ("action", "observation.state"))
    return action, state


_READERS: Mapping[str, Callable[[Path, PairedVideos], tuple[NDArray[Any], NDArray[Any]]]] = MappingProxyType(
    {".npz": _npz, ".parquet": _parquet}
)
