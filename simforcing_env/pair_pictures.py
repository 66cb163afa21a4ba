"""Both domains of recorded pairs, one above the other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from simforcing_env.pictures import Picture, column, row
from world_model.data.pairs import Pair


def contact_sheet(pairs: Sequence[Pair], moments: int = 8) -> Picture:
    """Some moments of each pair from first to last frame, ``sim`` above ``real``."""
    parts: list[Picture] = []
    for pair in pairs:
        at = np.linspace(0, len(pair) - 1, moments).round().astype(int)
        parts += [row([side.frames[i] for i in at], gap=2) for side in (pair.sim, pair.real)]
        parts.append(np.full((4, 1, 3), 255, np.uint8))
    return column(parts[:-1], gap=1)
