"""Both domains of recorded pairs, one above the other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from simforcing_env.pictures import Picture, column, row
from teachers.replay.teacher import ReplayTeacher
from world_model.data.pairs import Pair


def contact_sheet(pairs: Sequence[Pair], moments: int = 8) -> Picture:
    """Some moments of each pair from first to last frame, ``sim`` above ``real``."""
    parts: list[Picture] = []
    for pair in pairs:
        at = np.linspace(0, len(pair) - 1, moments).round().astype(int)
        parts += [row([side.frames[i] for i in at], gap=2) for side in (pair.sim, pair.real)]
        parts.append(np.full((4, 1, 3), 255, np.uint8))
    return column(parts[:-1], gap=1)


def overlay_sheet(teacher: ReplayTeacher, moments: int = 3) -> Picture:
    """Some moments of each replayed episode: ``sim``, the arm of ``sim`` over ``real`` in red, and ``real``."""
    parts: list[Picture] = []
    for name in teacher.names:
        episode, real = teacher.episode(name), teacher.frames(name, "real")
        strips: list[Picture] = []
        for at in np.linspace(0, len(episode) - 1, moments + 2).round().astype(int)[1:-1]:
            drawn, mask = teacher.draw(name, int(at))
            red = 0.5 * real[at] + 0.5 * drawn * np.array([1.0, 0.4, 0.4])
            over = np.where(mask[..., None] > 0, red, real[at]).astype(np.uint8)
            strips.append(row([picture[::2, ::2] for picture in (drawn, over, real[at])], gap=2))
        parts += [column(strips, gap=2), np.full((4, 1, 3), 255, np.uint8)]
    return column(parts[:-1])
