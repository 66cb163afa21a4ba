"""What a sensor makes of a rendered picture."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from teachers.appearance.appearance import Optics


def expose(picture: NDArray[np.uint8], optics: Optics, generator: np.random.Generator) -> NDArray[np.uint8]:
    """The picture ``(H, W, 3)`` as the sensor gives it; noise comes from ``generator``."""
    height, width = picture.shape[:2]
    light = picture.astype(np.float32) / 255 * np.array(optics.balance, np.float32) * optics.gain
    y, x = np.mgrid[-1 : 1 : height * 1j, -1 : 1 : width * 1j]
    light *= (1 - optics.vignette * (x**2 + y**2) / 2)[..., None].astype(np.float32)
    sigma = optics.blur * height / 128
    if sigma > 0:
        light = ndimage.gaussian_filter(light, (sigma, sigma, 0))
    light = light.clip(0, 1) ** optics.gamma
    spread = optics.noise + optics.shot * np.sqrt(light)
    noisy = light * 255 + spread * generator.standard_normal(light.shape, dtype=np.float32)
    return noisy.round().clip(0, 255).astype(np.uint8)
