"""Starts shipped with a checkpoint: first frames by name, so that no simulator is needed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image

from world_model.canvas import canvas_shape
from world_model.checkpoint import read_tensors, write_tensors
from world_model.contract import Contract
from world_model.errors import DataError, InputError


def task_of(start: str, world: str = "") -> int:
    """Task number of a start that is named "<suite>/<task>/<init>"; 0 for other names.

    Raises:
        InputError: the start is of the suite ``world`` but has the task's name in the place of its number.
    """
    parts = start.split("/")
    if len(parts) == 3 and parts[1].isdecimal():
        return int(parts[1])
    if len(parts) == 3 and parts[0] == world:
        raise InputError(f"start {start!r} names its task {parts[1]!r}; give the task's number, such as '{world}/3/40'")
    return 0


@dataclass(frozen=True)
class Starts:
    """N named initial states as the cameras and the joints see them."""

    names: tuple[str, ...]
    frames: NDArray[np.uint8]  # (N, H, W, 3) canvases
    proprio: NDArray[np.float32]  # (N, P) in the contract's units

    def __post_init__(self) -> None:
        count = len(self.names)
        if (
            self.frames.dtype != np.uint8
            or self.frames.ndim != 4
            or self.proprio.ndim != 2
            or not len(self.frames) == len(self.proprio) == count
            or len(set(self.names)) != count
        ):
            raise DataError(
                f"starts hold {count} names ({len(set(self.names))} different), frames {self.frames.dtype} "
                f"{self.frames.shape} and proprio {self.proprio.shape}; give each start its own name, one "
                "(H, W, 3) uint8 frame and one row of proprio"
            )

    @classmethod
    def join(cls, parts: Sequence[Starts]) -> Starts:
        """Several sets as one.

        Raises:
            DataError: a name occurs twice.
        """
        names = tuple(name for part in parts for name in part.names)
        return cls(names, np.concatenate([p.frames for p in parts]), np.concatenate([p.proprio for p in parts]))

    def __len__(self) -> int:
        return len(self.names)

    def index(self, name: str) -> int:
        """Row of a start.

        Raises:
            InputError: there is no start of this name.
        """
        if name not in self.names:
            near = get_close_matches(name, self.names, 3, 0.0)
            raise InputError(f"there is no start {name!r} among the {len(self)} shipped ones; try {', '.join(near)}")
        return self.names.index(name)

    def check(self, contract: Contract, where: str) -> None:
        """Raise `DataError` unless frames and proprio have the contract's shapes."""
        wanted = canvas_shape(contract), (contract.proprio_dim,)
        if (self.frames.shape[1:], self.proprio.shape[1:]) != wanted:
            raise DataError(
                f"starts in {where} have frames {self.frames.shape[1:]} and proprio {self.proprio.shape[1:]} but "
                f"contract {contract.name!r} says {wanted[0]} and {wanted[1]}; record them under this contract"
            )
        if not np.isfinite(self.proprio).all():
            raise DataError(f"starts in {where} have NaN or infinite proprio; record them again")

    def save(self, path: Path) -> None:
        """Write one safetensors file; frames as lossless WebP one after the other, the names in its metadata."""
        pictures = [_picture(frame) for frame in self.frames]
        tensors = {
            "pictures": torch.frombuffer(bytearray(b"".join(pictures)), dtype=torch.uint8),
            "ends": torch.tensor([len(picture) for picture in pictures]).cumsum(0),
            "proprio": torch.from_numpy(self.proprio),
        }
        write_tensors(path, tensors, {"names": json.dumps(self.names)})

    @classmethod
    def load(cls, path: Path) -> Starts:
        """Read the form of `save`, or that with PNG.

        Raises:
            DataError: damaged, or not starts.
        """
        tensors, metadata = read_tensors(path)
        try:
            names: Any = json.loads(metadata["names"])
            pictures = np.split(tensors["pictures"].numpy(), tensors["ends"].numpy()[:-1])
            frames = np.stack([np.asarray(Image.open(BytesIO(p.tobytes()))) for p in pictures])
            return cls(tuple(map(str, names)), frames, tensors["proprio"].numpy())
        except (KeyError, TypeError, ValueError, OSError) as error:
            if isinstance(error, DataError):
                raise
            raise DataError(f"{path} does not hold starts ({error}); copy the checkpoint again") from error


def _picture(frame: NDArray[np.uint8]) -> bytes:
    written = BytesIO()
    Image.fromarray(frame).save(written, "WEBP", lossless=True, quality=60, method=3)  # a third smaller than PNG
    return written.getvalue()
