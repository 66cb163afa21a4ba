"""Frames that look like a small tabletop: soft-edged shapes of a few colours on white."""

import numpy as np
import pytest
import torch
from torch import Tensor


def draw(count: int, seed: int, size: int = 32) -> Tensor:
    """``(count, size, size, 3)`` uint8: one rotated bar and one disc at random poses."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:size, :size] + 0.5
    frames = np.empty((count, size, size, 3), np.uint8)
    for frame in frames:
        (bx, by), (cx, cy) = rng.uniform(0.2 * size, 0.8 * size, (2, 2))
        angle = rng.uniform(0, np.pi)
        along = np.abs((x - bx) * np.cos(angle) + (y - by) * np.sin(angle)) - size / 5
        across = np.abs((y - by) * np.cos(angle) - (x - bx) * np.sin(angle)) - size / 12
        bar = np.clip(0.5 - np.maximum(along, across), 0, 1)[..., None]
        disc = np.clip(0.5 + size / 10 - np.hypot(x - cx, y - cy), 0, 1)[..., None]
        picture = 255 * (1 - bar) + np.array([119, 136, 153]) * bar
        frame[:] = np.round(picture * (1 - disc) + np.array([65, 105, 225]) * disc)
    return torch.from_numpy(frames)


@pytest.fixture(scope="session")
def frames() -> Tensor:
    """300 frames to fit on."""
    return draw(300, seed=0)


@pytest.fixture(scope="session")
def held_out() -> Tensor:
    """60 other frames."""
    return draw(60, seed=1)
