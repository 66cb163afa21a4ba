"""Noise of several episodes, each from a generator of its own, so that neighbours change nothing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from simforcing_env.policies.policy import generators


class Streams:
    """One generator for each of B seeds; ``salt`` makes streams of the same seeds independent."""

    def __init__(self, seeds: Sequence[int], *salt: int) -> None:
        self._generators = generators(seeds, *salt)

    def __len__(self) -> int:
        return len(self._generators)

    def normal(self, *shape: int) -> NDArray[np.float32]:
        """Standard normal numbers ``(B, *shape)``."""
        return np.stack([generator.standard_normal(shape, np.float32) for generator in self._generators])

    def seeds(self) -> list[int]:
        """A new seed for each episode."""
        return [int(generator.integers(2**31)) for generator in self._generators]
