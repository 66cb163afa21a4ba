"""Reads poses from Push-T frames: the instrument by which generated frames are judged.

It knows nothing of the world model. A small convolutional net marks five points (the pusher, and four of the
block), each as a softmax-weighted mean of positions; the block's pose is the rigid T that fits its four best.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from world_model import checkpoint, registry
from world_model.errors import InputError
from world_model.models.layers import ResBlock

PACKAGED = Path(__file__).resolve().parent.parent / "weights" / "pusht-reader"
ARENA = 512.0  # px that a frame spans
BLOCK_POINTS = ((0.0, 0.0), (-60.0, 15.0), (60.0, 15.0), (0.0, 120.0))  # px in the block's own axes


class Poses(NamedTuple):
    """What stands in N frames, in px of 512 and radians."""

    agent: NDArray[np.float64]  # (N, 2)
    block: NDArray[np.float64]  # (N, 2) the block's origin: the middle of the bar's outer edge
    angle: NDArray[np.float64]  # (N,) in (-pi, pi]
    misfit: NDArray[np.float64]  # (N,) px: how far the marked points are from a rigid T; large where none is seen


@dataclass(frozen=True)
class PoseReaderConfig:
    """Shape of the net."""

    size: int = 64
    """Height and width of the frames."""
    patch: int = 4
    """Pixels per cell and side."""
    width: int = 64
    dilations: tuple[int, ...] = (1, 2, 4, 1)
    """One residual block each."""


class PoseReader(nn.Module):
    """Frames to points (``forward``) and to poses (``read``)."""

    centres: Tensor  # (2, cells) px
    grid: Tensor  # (1, 2, U, V) the same, scaled to [-1, 1]

    def __init__(self, config: PoseReaderConfig) -> None:
        super().__init__()
        self.config = config
        self.points = 1 + len(BLOCK_POINTS)
        cells = config.size // config.patch
        self.cell = ARENA / cells  # px
        axis = (torch.arange(cells) + 0.5) * self.cell
        centres = torch.stack(torch.meshgrid(axis, axis, indexing="xy"))
        self.register_buffer("centres", centres.flatten(1), persistent=False)
        self.register_buffer("grid", (centres / (ARENA / 2) - 1)[None], persistent=False)
        self.stem = nn.Conv2d(3 * config.patch**2 + 2, config.width, 3, padding=1)
        self.blocks = nn.Sequential(*(ResBlock(config.width, d) for d in config.dilations))
        self.head = nn.Conv2d(config.width, 3 * self.points, 1)

    def forward(self, frames: Tensor) -> Tensor:
        """``(N, H, W, 3)`` grey levels 0 to 255 of any float type to points ``(N, points, 2)`` in px."""
        pixels = (frames / 127.5 - 1).permute(0, 3, 1, 2)
        x = torch.cat(
            [functional.pixel_unshuffle(pixels, self.config.patch), self.grid.expand(len(frames), -1, -1, -1)], 1
        )
        out = self.head(functional.silu(self.blocks(self.stem(x.contiguous(memory_format=torch.channels_last)))))
        logits, dx, dy = out.float().flatten(2).split(self.points, 1)  # (N, points, cells) each
        weight = logits.softmax(-1)
        offsets = torch.stack([dx, dy], -1) * self.cell
        return torch.einsum("npc,npcd->npd", weight, offsets) + weight @ self.centres.mT

    @torch.inference_mode()
    def read(self, frames: NDArray[np.uint8], batch: int = 256) -> Poses:
        """Poses in frames ``(N, H, W, 3)`` uint8.

        Raises:
            InputError: frames of another type or size.
        """
        side = self.config.size
        if frames.dtype != np.uint8 or frames.ndim != 4 or frames.shape[1:] != (side, side, 3):
            raise InputError(
                f"the pose reader takes uint8 frames (N, {side}, {side}, 3) but got {frames.dtype} {frames.shape}; "
                f"resize them with area interpolation"
            )
        pieces = [self(torch.from_numpy(frames[i : i + batch]).float()) for i in range(0, len(frames), batch)]
        points = torch.cat(pieces).double().numpy() if pieces else np.zeros((0, self.points, 2))
        return Poses(points[:, 0], *fit_block(points[:, 1:]))


def fit_block(points: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """The rigid T nearest to points ``(N, 4, 2)`` in px: origin ``(N, 2)``, angle ``(N,)``, RMS distance ``(N,)``."""
    shape = np.array(BLOCK_POINTS)
    own, seen = shape - shape.mean(0), points - points.mean(1, keepdims=True)
    sine = (own[:, 0] * seen[..., 1] - own[:, 1] * seen[..., 0]).sum(-1)
    angle = np.arctan2(sine, (own * seen).sum((-2, -1)))
    fitted = rotate(shape, angle)
    origin = (points - fitted).mean(1)
    rest = points - fitted - origin[:, None]
    return origin, angle, np.sqrt(np.square(rest).sum(-1).mean(-1))


def rotate(points: NDArray[np.float64], angle: NDArray[np.float64]) -> NDArray[np.float64]:
    """Points ``(K, 2)`` turned by each angle ``(N,)``: ``(N, K, 2)``."""
    cos, sin = np.cos(angle)[:, None], np.sin(angle)[:, None]
    x, y = points[:, 0], points[:, 1]
    return np.stack([cos * x - sin * y, sin * x + cos * y], -1)


READERS: dict[str, tuple[type[PoseReaderConfig], type[PoseReader]]] = {"pusht": (PoseReaderConfig, PoseReader)}


def save_reader(reader: PoseReader, folder: Path, card: str) -> None:
    """Write a reader's folder (config, weights, card, manifest), whole or not at all."""
    with checkpoint.writing_folder(folder) as temporary:
        checkpoint.write_json(temporary / "config.json", registry.to_dict(READERS, reader))
        checkpoint.write_tensors(temporary / "model.safetensors", reader.state_dict())
        (temporary / checkpoint.CARD).write_text(card, encoding="utf-8")


def load_reader(folder: Path = PACKAGED) -> PoseReader:
    """Open a reader's folder, by default the packaged one.

    Raises:
        DataError: absent, damaged or of another kind.
    """
    opened = checkpoint.open_folder(folder)
    reader: Any = registry.build(READERS, opened.json("config.json"), str(opened.path / "config.json"))
    checkpoint.load_state(reader, opened.tensors("model.safetensors"), opened.path / "model.safetensors")
    reader.to(memory_format=torch.channels_last).eval().requires_grad_(False)
    return reader  # type: ignore[no-any-return]
