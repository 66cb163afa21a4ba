"""What a codec costs and loses: quality on held-out frames, time of a call, size."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from world_model.codecs.base import CodecModule
from world_model.interface import to_uint8

EXACT_DB = 100.0  # a frame that comes back exactly has no finite PSNR; it counts as this much


@dataclass(frozen=True)
class Quality:
    """Round trip of N frames through a codec and 8 bits."""

    psnr: NDArray[np.float64]  # (N,) dB, at most EXACT_DB
    largest_error: int  # grey levels of 255, over all pixels

    @property
    def worst(self) -> float:
        """PSNR that 1 % of the frames fall below, dB."""
        return float(np.percentile(self.psnr, 1))


@dataclass(frozen=True)
class Speed:
    """Median milliseconds per frame."""

    encode: float
    decode: float


@torch.inference_mode()
def quality(codec: CodecModule, frames: Tensor, batch: int = 64) -> Quality:
    """Measure on ``(N, H, W, 3)`` uint8 frames."""
    psnr, largest = [], 0
    for part in torch.split(frames, batch):
        error = to_uint8(codec.decode(codec.encode(part))).int() - part.int()
        square = error.double().square().flatten(1).mean(1)
        psnr.append((10 * torch.log10(255**2 / square)).clamp_max(EXACT_DB))
        largest = max(largest, int(error.abs().max()))
    return Quality(torch.cat(psnr).numpy(), largest)


@torch.inference_mode()
def speed(codec: CodecModule, frames: Tensor, seconds: float = 0.5) -> Speed:
    """Time calls with all of ``(B, H, W, 3)`` frames at once, for about ``seconds`` each way."""
    latents = codec.encode(frames)
    encode = _median(lambda: codec.encode(frames), seconds)
    decode = _median(lambda: codec.decode(latents), seconds)
    return Speed(1000 * encode / len(frames), 1000 * decode / len(frames))


def parameters(codec: CodecModule) -> int:
    """Stored numbers, bases and statistics included."""
    return sum(tensor.numel() for tensor in codec.state_dict().values())


def pareto(rows: Sequence[Sequence[float]]) -> list[bool]:
    """Which rows of costs (smaller is better) no other row beats: nowhere worse and somewhere better."""
    table = np.asarray(rows, np.float64)
    return [not bool(((table <= row).all(1) & (table < row).any(1)).any()) for row in table]


def _median(call: Callable[[], object], seconds: float, least: int = 5) -> float:
    for _ in range(3):
        call()
    times: list[float] = []
    start = time.perf_counter()
    while len(times) < least or time.perf_counter() - start < seconds:
        before = time.perf_counter()
        call()
        times.append(time.perf_counter() - before)
    return float(np.median(times))
