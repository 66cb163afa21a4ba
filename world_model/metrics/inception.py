"""The Inception network of FID (of 2015-12-05, not torchvision's): pictures to 2048 features.

Module names are those of the published file, which loads strictly. The weights are not shipped;
`world_model.metrics.weights` finds them.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from world_model.checkpoint import load_state, sha256
from world_model.errors import DataError

DIGEST = "6726825d"  # the SHA-256's beginning, which stands in the published file's name
SIDE = 299  # px
CLASSES = 1008
Size = int | tuple[int, int]


class _Unit(nn.Module):
    def __init__(self, inputs: int, outputs: int, size: Size, stride: int = 1, padding: Size = 0) -> None:
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, size, stride, padding, bias=False)
        self.bn = nn.BatchNorm2d(outputs, eps=1e-3)

    def forward(self, x: Tensor) -> Tensor:
        return functional.relu(self.bn(self.conv(x)))


class _Block(nn.Module):
    """Branches side by side; a branch is a chain of units of this module by name.

    A step of a chain that is a tuple of names is a fork, whose arms are joined.
    """

    branches: tuple[tuple[str | tuple[str, ...], ...], ...]

    def pooled(self, x: Tensor) -> Tensor:
        """TensorFlow's average: padding does not count."""
        return functional.avg_pool2d(x, 3, 1, 1, count_include_pad=False)

    def chain(self, names: tuple[str | tuple[str, ...], ...], x: Tensor) -> Tensor:
        for name in names:
            if isinstance(name, tuple):
                x = torch.cat([self.get_submodule(arm)(x) for arm in name], 1)
            else:
                x = self.get_submodule(name)(x)
        return x

    def forward(self, x: Tensor) -> Tensor:
        found = [self.chain(names, x) for names in self.branches]
        last = self.pooled(x)
        return torch.cat([*found, self.get_submodule("branch_pool")(last) if hasattr(self, "branch_pool") else last], 1)


def _steps(stem: str, count: int) -> tuple[str, ...]:
    return tuple(f"{stem}_{i}" for i in range(1, count + 1))


class _A(_Block):
    branches = (("branch1x1",), _steps("branch5x5", 2), _steps("branch3x3dbl", 3))

    def __init__(self, inputs: int, pool: int) -> None:
        super().__init__()
        self.branch1x1 = _Unit(inputs, 64, 1)
        self.branch5x5_1, self.branch5x5_2 = _Unit(inputs, 48, 1), _Unit(48, 64, 5, padding=2)
        self.branch3x3dbl_1, self.branch3x3dbl_2 = _Unit(inputs, 64, 1), _Unit(64, 96, 3, padding=1)
        self.branch3x3dbl_3 = _Unit(96, 96, 3, padding=1)
        self.branch_pool = _Unit(inputs, pool, 1)


class _Halving(_Block):
    def pooled(self, x: Tensor) -> Tensor:
        return functional.max_pool2d(x, 3, 2)


class _B(_Halving):
    branches = (("branch3x3",), _steps("branch3x3dbl", 3))

    def __init__(self, inputs: int) -> None:
        super().__init__()
        self.branch3x3 = _Unit(inputs, 384, 3, 2)
        self.branch3x3dbl_1, self.branch3x3dbl_2 = _Unit(inputs, 64, 1), _Unit(64, 96, 3, padding=1)
        self.branch3x3dbl_3 = _Unit(96, 96, 3, 2)


class _C(_Block):
    branches = (("branch1x1",), _steps("branch7x7", 3), _steps("branch7x7dbl", 5))

    def __init__(self, width: int) -> None:
        super().__init__()
        wide, high = {"size": (1, 7), "padding": (0, 3)}, {"size": (7, 1), "padding": (3, 0)}
        self.branch1x1 = _Unit(768, 192, 1)
        self.branch7x7_1 = _Unit(768, width, 1)
        self.branch7x7_2, self.branch7x7_3 = _Unit(width, width, **wide), _Unit(width, 192, **high)  # type: ignore[arg-type]
        self.branch7x7dbl_1 = _Unit(768, width, 1)
        self.branch7x7dbl_2, self.branch7x7dbl_3 = _Unit(width, width, **high), _Unit(width, width, **wide)  # type: ignore[arg-type]
        self.branch7x7dbl_4, self.branch7x7dbl_5 = _Unit(width, width, **high), _Unit(width, 192, **wide)  # type: ignore[arg-type]
        self.branch_pool = _Unit(768, 192, 1)


class _D(_Halving):
    branches = (_steps("branch3x3", 2), _steps("branch7x7x3", 4))

    def __init__(self) -> None:
        super().__init__()
        self.branch3x3_1, self.branch3x3_2 = _Unit(768, 192, 1), _Unit(192, 320, 3, 2)
        self.branch7x7x3_1 = _Unit(768, 192, 1)
        self.branch7x7x3_2 = _Unit(192, 192, (1, 7), padding=(0, 3))
        self.branch7x7x3_3 = _Unit(192, 192, (7, 1), padding=(3, 0))
        self.branch7x7x3_4 = _Unit(192, 192, 3, 2)


class _E(_Block):
    branches = (
        ("branch1x1",),
        ("branch3x3_1", ("branch3x3_2a", "branch3x3_2b")),
        ("branch3x3dbl_1", "branch3x3dbl_2", ("branch3x3dbl_3a", "branch3x3dbl_3b")),
    )

    def __init__(self, inputs: int) -> None:
        super().__init__()
        self.branch1x1 = _Unit(inputs, 320, 1)
        self.branch3x3_1, self.branch3x3dbl_1 = _Unit(inputs, 384, 1), _Unit(inputs, 448, 1)
        self.branch3x3dbl_2 = _Unit(448, 384, 3, padding=1)
        for stem in ("branch3x3_2", "branch3x3dbl_3"):
            self.add_module(f"{stem}a", _Unit(384, 384, (1, 3), padding=(0, 1)))
            self.add_module(f"{stem}b", _Unit(384, 384, (3, 1), padding=(1, 0)))
        self.branch_pool = _Unit(inputs, 192, 1)


class _LastE(_E):
    def pooled(self, x: Tensor) -> Tensor:
        """A maximum where the block before has a mean: so it is in the network that published scores are of."""
        return functional.max_pool2d(x, 3, 1, 1)


class Inception(nn.Module):
    """``(N, 3, 299, 299)`` in [-1, 1] to ``(N, 2048)``."""

    def __init__(self) -> None:
        super().__init__()
        self.Conv2d_1a_3x3, self.Conv2d_2a_3x3 = _Unit(3, 32, 3, 2), _Unit(32, 32, 3)
        self.Conv2d_2b_3x3 = _Unit(32, 64, 3, padding=1)
        self.Conv2d_3b_1x1, self.Conv2d_4a_3x3 = _Unit(64, 80, 1), _Unit(80, 192, 3)
        self.Mixed_5b, self.Mixed_5c, self.Mixed_5d = _A(192, 32), _A(256, 64), _A(288, 64)
        self.Mixed_6a, self.Mixed_6b = _B(288), _C(128)
        self.Mixed_6c, self.Mixed_6d, self.Mixed_6e = _C(160), _C(160), _C(192)
        self.Mixed_7a, self.Mixed_7b, self.Mixed_7c = _D(), _E(1280), _LastE(2048)
        self.fc = nn.Linear(2048, CLASSES)  # of the published file; features are taken before it

    def forward(self, x: Tensor) -> Tensor:
        x = self.Conv2d_2b_3x3(self.Conv2d_2a_3x3(self.Conv2d_1a_3x3(x)))
        x = self.Conv2d_4a_3x3(self.Conv2d_3b_1x1(functional.max_pool2d(x, 3, 2)))
        x = functional.max_pool2d(x, 3, 2)
        for name, block in self.named_children():
            if name.startswith("Mixed"):
                x = block(x)
        return x.mean(dim=(2, 3))


def load_inception(path: Path) -> Inception:
    """Read the published weights, ``pt_inception-2015-12-05-6726825d.pth``.

    Raises:
        DataError: absent or another file; features of other weights would give another distance.
    """
    if not path.is_file():
        raise DataError(f"there is no file {path}; check the path")
    if not (found := sha256(path)).startswith(DIGEST):
        raise DataError(f"{path} has SHA-256 {found[:16]}, but FID's weights begin with {DIGEST}; fetch them again")
    network = Inception()
    counters = {name: value for name, value in network.state_dict().items() if name.endswith("num_batches_tracked")}
    load_state(network, {**counters, **torch.load(path, map_location="cpu", weights_only=True)}, path)
    return network.eval().requires_grad_(False)


@torch.inference_mode()
def picture_features(network: nn.Module, frames: NDArray[np.uint8], batch: int = 32) -> NDArray[np.float64]:
    """Features ``(N, 2048)`` of frames ``(N, H, W, 3)`` uint8, resized to 299 px a side bilinearly."""
    found = []
    for first in range(0, len(frames), batch):
        pixels = torch.from_numpy(np.ascontiguousarray(frames[first : first + batch])).movedim(-1, 1).float() / 255
        found.append(network(2 * functional.interpolate(pixels, (SIDE, SIDE), mode="bilinear") - 1).double())
    return torch.cat(found).numpy()
