"""Where and how the networks run: device, precision, threads, rows per call."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import torch

Precision = Literal["float32", "bfloat16"]


@dataclass(frozen=True)
class Runtime:
    """Choices that change speed and rounding but not meaning."""

    device: str = "cpu"
    """Anything torch.device takes."""
    precision: Precision = "float32"
    """bfloat16 runs the denoiser under autocast; codec and heads stay in float32."""
    rows: int = 0
    """Most episodes in one network call, 0 for all of them; small blocks stay in the processor's cache."""

    def autocast(self) -> contextlib.AbstractContextManager[None]:
        if self.precision == "float32":
            return contextlib.nullcontext()
        return torch.autocast(torch.device(self.device).type, torch.bfloat16)

    def blocks(self, batch: int) -> Iterator[slice]:
        """Slices that cover ``batch`` rows."""
        size = self.rows or batch
        for first in range(0, batch, size):
            yield slice(first, min(first + size, batch))


def resolve_device(name: str = "auto") -> str:
    """``auto`` becomes ``cuda`` where there is one, else ``cpu``; any other name stays."""
    if name != "auto":
        return name
    return "cuda" if torch.cuda.is_available() else "cpu"
