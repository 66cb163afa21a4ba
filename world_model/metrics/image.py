"""How alike two pictures are: PSNR and SSIM per frame, of colour and, as IRASim publishes them, of grey pictures."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

from world_model.errors import InputError

PSNR_CAP = 60.0  # dB; identical frames would be infinite, and a mean over frames must stay a number
_WINDOW, _SIGMA = 11, 1.5
_GREY_WINDOW = 7
_GREY_PARTS = np.array(
    [9798, 19235, 3735], np.int32
)  # of 32768: 0.299, 0.587 and 0.114 as 8-bit pictures are converted
_C1, _C2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2


def psnr(a: NDArray[np.uint8], b: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Peak signal-to-noise ratio in dB of frames ``(..., H, W, 3)`` uint8: ``(...)``, at most 60.

    ``a`` and ``b`` may broadcast over the leading axes.

    Raises:
        InputError: not uint8, or frames of different sizes.
    """
    _check(a, b)
    return _psnr(np.square(a.astype(np.float32) - b.astype(np.float32)).mean(axis=(-3, -2, -1), dtype=np.float64))


def ssim(a: NDArray[np.uint8], b: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Structural similarity of frames ``(..., H, W, 3)`` uint8: ``(...)``, 1 for identical frames.

    The published form: Gaussian window of 11 pixels with sigma 1.5, biased local moments, mean over all
    windows that lie wholly inside the picture and over the three colours.

    Raises:
        InputError: not uint8, of different shapes, or smaller than the window.
    """
    _check(a, b)
    _check_window(a, b, _WINDOW)
    lead = a.shape[:-3]
    x, y = (
        torch.from_numpy(np.ascontiguousarray(v.reshape(-1, *v.shape[-3:]))).double().permute(0, 3, 1, 2)
        for v in (a, b)
    )
    values: NDArray[np.float64] = _similarity(x, y, _local).mean(dim=(1, 2, 3)).numpy()
    return values.reshape(lead)


def grey(frames: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Luma ``(..., H, W)`` uint8 of ``(..., H, W, 3)`` RGB: 0.299 R + 0.587 G + 0.114 B in the usual 8-bit rounding."""
    return ((frames.astype(np.int32) @ _GREY_PARTS + (1 << 14)) >> 15).astype(np.uint8)


def psnr_grey(a: NDArray[np.uint8], b: NDArray[np.uint8]) -> NDArray[np.float64]:
    """As `psnr`, of the grey pictures."""
    _check(a, b)
    x, y = grey(a).astype(np.float32), grey(b).astype(np.float32)
    return _psnr(np.square(x - y).mean(axis=(-2, -1), dtype=np.float64))


def ssim_grey(a: NDArray[np.uint8], b: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Structural similarity of the grey pictures of ``(..., H, W, 3)`` uint8: ``(...)``.

    The form that IRASim's scripts take from scikit-image: square windows of 7 pixels, unbiased local moments, mean
    over all windows that lie wholly inside the picture.

    Raises:
        InputError: not uint8, of different shapes, or smaller than the window.
    """
    _check(a, b)
    _check_window(a, b, _GREY_WINDOW)
    x, y = (torch.from_numpy(grey(v).astype(np.float64)).reshape(-1, 1, *v.shape[-3:-1]) for v in (a, b))
    pixels = _GREY_WINDOW**2

    def local(planes: torch.Tensor) -> torch.Tensor:
        return functional.avg_pool2d(planes, _GREY_WINDOW, 1)

    values: NDArray[np.float64] = _similarity(x, y, local, pixels / (pixels - 1)).mean(dim=(1, 2, 3)).numpy()
    return values.reshape(a.shape[:-3])


def _psnr(squares: NDArray[np.float64]) -> NDArray[np.float64]:
    floor = 255.0**2 * 10 ** (-PSNR_CAP / 10)
    return 10 * np.log10(255.0**2 / np.maximum(squares, floor))


def _similarity(
    x: torch.Tensor, y: torch.Tensor, local: Callable[[torch.Tensor], torch.Tensor], correction: float = 1.0
) -> torch.Tensor:
    """SSIM of every window of two ``(N, planes, H, W)``; ``correction`` makes second moments unbiased."""
    mean_x, mean_y = local(x), local(y)
    var_x, var_y = (correction * (local(v * v) - mean**2) for v, mean in ((x, mean_x), (y, mean_y)))
    both = correction * (local(x * y) - mean_x * mean_y)
    light = (2 * mean_x * mean_y + _C1) / (mean_x**2 + mean_y**2 + _C1)
    structure = (2 * both + _C2) / (var_x + var_y + _C2)
    return light * structure


def _local(planes: torch.Tensor) -> torch.Tensor:
    """Gaussian mean of ``(N, 3, H, W)`` over every whole window."""
    axis = torch.arange(_WINDOW, dtype=torch.float64) - (_WINDOW - 1) / 2
    kernel = torch.exp(-0.5 * (axis / _SIGMA) ** 2)
    kernel = (kernel / kernel.sum()).expand(3, 1, _WINDOW)
    return functional.conv2d(functional.conv2d(planes, kernel[:, :, None], groups=3), kernel[..., None], groups=3)


def _check_window(a: NDArray[np.uint8], b: NDArray[np.uint8], window: int) -> None:
    if a.shape != b.shape or min(a.shape[-3:-1]) < window:
        raise InputError(f"SSIM takes two equal shapes of at least {window} pixels but got {a.shape} and {b.shape}")


def _check(a: NDArray[np.uint8], b: NDArray[np.uint8]) -> None:
    if a.dtype != np.uint8 or b.dtype != np.uint8 or a.shape[-3:] != b.shape[-3:] or a.shape[-1] != 3:
        raise InputError(
            f"frames are {a.dtype} {a.shape} and {b.dtype} {b.shape} but must both be uint8 (..., H, W, 3) of one size"
        )
