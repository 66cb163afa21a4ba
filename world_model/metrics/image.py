"""How alike two pictures are: PSNR and SSIM per frame."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

from world_model.errors import InputError

PSNR_CAP = 60.0  # dB; identical frames would be infinite, and a mean over frames must stay a number
_WINDOW, _SIGMA = 11, 1.5
_C1, _C2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2


def psnr(a: NDArray[np.uint8], b: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Peak signal-to-noise ratio in dB of frames ``(..., H, W, 3)`` uint8: ``(...)``, at most 60.

    ``a`` and ``b`` may broadcast over the leading axes.

    Raises:
        InputError: not uint8, or frames of different sizes.
    """
    _check(a, b)
    squares = np.square(a.astype(np.float32) - b.astype(np.float32)).mean(axis=(-3, -2, -1), dtype=np.float64)
    floor = 255.0**2 * 10 ** (-PSNR_CAP / 10)
    return 10 * np.log10(255.0**2 / np.maximum(squares, floor))


def ssim(a: NDArray[np.uint8], b: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Structural similarity of frames ``(..., H, W, 3)`` uint8: ``(...)``, 1 for identical frames.

    The published form: Gaussian window of 11 pixels with sigma 1.5, biased local moments, mean over all
    windows that lie wholly inside the picture and over the three colours.

    Raises:
        InputError: not uint8, of different shapes, or smaller than the window.
    """
    _check(a, b)
    if a.shape != b.shape or min(a.shape[-3:-1]) < _WINDOW:
        raise InputError(f"SSIM takes two equal shapes of at least {_WINDOW} pixels but got {a.shape} and {b.shape}")
    lead = a.shape[:-3]
    x, y = (
        torch.from_numpy(np.ascontiguousarray(v.reshape(-1, *v.shape[-3:]))).double().permute(0, 3, 1, 2)
        for v in (a, b)
    )
    mean_x, mean_y = _local(x), _local(y)
    var_x, var_y = _local(x * x) - mean_x**2, _local(y * y) - mean_y**2
    both = _local(x * y) - mean_x * mean_y
    light = (2 * mean_x * mean_y + _C1) / (mean_x**2 + mean_y**2 + _C1)
    structure = (2 * both + _C2) / (var_x + var_y + _C2)
    values: NDArray[np.float64] = (light * structure).mean(dim=(1, 2, 3)).numpy()
    return values.reshape(lead)


def _local(planes: torch.Tensor) -> torch.Tensor:
    """Gaussian mean of ``(N, 3, H, W)`` over every whole window."""
    axis = torch.arange(_WINDOW, dtype=torch.float64) - (_WINDOW - 1) / 2
    kernel = torch.exp(-0.5 * (axis / _SIGMA) ** 2)
    kernel = (kernel / kernel.sum()).expand(3, 1, _WINDOW)
    return functional.conv2d(functional.conv2d(planes, kernel[:, :, None], groups=3), kernel[..., None], groups=3)


def _check(a: NDArray[np.uint8], b: NDArray[np.uint8]) -> None:
    if a.dtype != np.uint8 or b.dtype != np.uint8 or a.shape[-3:] != b.shape[-3:] or a.shape[-1] != 3:
        raise InputError(
            f"frames are {a.dtype} {a.shape} and {b.dtype} {b.shape} but must both be uint8 (..., H, W, 3) of one size"
        )
