"""Patterns that surfaces are painted with: pictures of numbers about zero, at most 1 in size."""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from teachers.appearance.appearance import Surface

Pattern = Callable[[np.random.Generator, int, int, float], NDArray[np.float32]]
"""From a generator, height, width and grain to ``(height, width)``."""


def _clouds(generator: np.random.Generator, height: int, width: int, grain: float) -> NDArray[np.float32]:
    return _noise(generator, height, width, grain, grain)


def _wood(generator: np.random.Generator, height: int, width: int, grain: float) -> NDArray[np.float32]:
    return _noise(generator, height, width, 6 * grain, 0.4 * grain)


def _stripes(generator: np.random.Generator, height: int, width: int, grain: float) -> NDArray[np.float32]:
    angle = generator.uniform(0, np.pi)
    y, x = np.mgrid[0 : 1 : height * 1j, 0 : 1 : width * 1j]
    waves = np.sin(2 * np.pi * (np.cos(angle) * x + np.sin(angle) * y) / (4 * grain))
    return np.sign(waves).astype(np.float32) * 0.7


def _checks(generator: np.random.Generator, height: int, width: int, grain: float) -> NDArray[np.float32]:
    y, x = np.mgrid[0 : 1 : height * 1j, 0 : 1 : width * 1j]
    odd = (np.floor(x / (3 * grain)) + np.floor(y / (3 * grain))) % 2
    return (1.4 * odd - 0.7).astype(np.float32)


PATTERNS = MappingProxyType({"clouds": _clouds, "wood": _wood, "stripes": _stripes, "checks": _checks})


def paint(plain: NDArray[np.uint8], surface: Surface) -> NDArray[np.uint8]:
    """A texture ``(height, width, 3 or more)`` with the surface's colour and pattern over it; alpha stays."""
    height, width = plain.shape[:2]
    pattern = PATTERNS[surface.pattern](np.random.default_rng(surface.seed), height, width, surface.grain)
    colour = np.array(surface.colour, np.float32) * 255
    painted = (1 - surface.cover) * plain[..., :3].astype(np.float32) + surface.cover * colour
    painted *= 1 + surface.contrast * pattern[..., None]
    result = plain.copy()
    result[..., :3] = painted.clip(0, 255).astype(np.uint8)
    return result


def _noise(generator: np.random.Generator, height: int, width: int, along: float, across: float) -> NDArray[np.float32]:
    """Smooth noise whose parts are so long and so wide, as shares of the picture; small noise, enlarged."""
    rows, columns = (int(np.clip(round(1 / size), 2, 128)) for size in (across, along))
    small = generator.uniform(-1, 1, (rows, columns)).astype(np.float32)
    large = ndimage.zoom(small, (height / rows, width / columns), order=1, mode="grid-wrap", grid_mode=True)
    return np.asarray(large[:height, :width], np.float32)
