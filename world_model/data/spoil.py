"""True frames made somewhat worse, as generated frames are."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

BLURRED, NOISED = 0.4, 0.6  # shares of batches


def spoil(frames: Tensor, generator: torch.Generator) -> Tensor:
    """Frames ``(N, H, W, 3)`` uint8 as float grey levels, not clipped: a batch is often blurred (all frames alike)
    and often noised (each frame by its own strength, up to 10 grey levels)."""
    x = frames.float()
    chance = torch.rand(2, generator=generator)
    if chance[0] < BLURRED:
        x = blur(x, 0.3 + 0.9 * float(torch.rand(1, generator=generator)))
    if chance[1] < NOISED:
        strength = 10 * torch.rand(len(x), 1, 1, 1, generator=generator).square()
        x = x + torch.randn(x.shape, generator=generator) * strength
    return x


def blur(frames: Tensor, sigma: float) -> Tensor:
    """Gaussian blur of ``(N, H, W, 3)`` float frames by ``sigma`` pixels, borders repeated."""
    kernel = torch.exp(-0.5 * (torch.arange(-3, 4) / sigma).square())
    kernel = (kernel / kernel.sum()).expand(3, 1, 7)
    planes = functional.pad(frames.permute(0, 3, 1, 2), (3, 3, 3, 3), mode="replicate")
    across = functional.conv2d(planes, kernel[:, :, None], groups=3)
    return functional.conv2d(across, kernel[..., None], groups=3).permute(0, 2, 3, 1)
