"""Do the pictures show what the proprio says: which way up, and at the right time?

Needs a proprio in the image plane (two px dimensions whose names end with x and y): what moves between two
frames lies, in the middle, where the proprio was. Of several cameras the first is looked at.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from simforcing_env.doctor.finding import Finding
from world_model.canvas import split
from world_model.contract import Contract
from world_model.data.episode import Episode

SHIFTS = (-1, 0, 1)
FEWEST_FRAMES = 40
NOISE = 24  # sum over the colours of a pixel's change that compression alone may cause
CLEAR = 0.3  # correlation at which an axis is told
BETTER = 0.8  # another shift must leave less than this share of shift 0's distance to be called the right one

Array = NDArray[np.float64]


def plane(contract: Contract) -> tuple[int, int] | None:
    """Indices of the proprio's x and y in the image plane, or None."""
    x = [i for i, d in enumerate(contract.proprio) if d.unit == "px" and d.name.endswith("x")]
    y = [i for i, d in enumerate(contract.proprio) if d.unit == "px" and d.name.endswith("y")]
    return (x[0], y[0]) if len(x) == len(y) == 1 else None


def check_images(episodes: Sequence[Episode], contract: Contract) -> list[Finding]:
    """Findings ``motion``, ``image orientation`` and ``frame shift``."""
    axes = plane(contract)
    if axes is None:
        return [
            Finding(
                "image orientation", "note", "the proprio is not in the image plane, so pictures can't be held to it"
            )
        ]
    centres, places = _collect(episodes, contract, axes)
    if len(centres) < FEWEST_FRAMES:
        text = f"the picture changes in only {len(centres)} frames (at least {FEWEST_FRAMES} are needed)"
        mend = "check that frames are not repeated or blank, or give livelier episodes"
        return [Finding("motion", "fault" if _moves(episodes, axes) else "note", text, mend)]
    direct = [_correlation(centres[:, i], places[0][:, i]) for i in (0, 1)]
    crossed = [_correlation(centres[:, i], places[0][:, 1 - i]) for i in (0, 1)]
    seen = f"correlation of motion and proprio: across {direct[0]:+.2f}, down {direct[1]:+.2f}"
    if min(map(abs, crossed)) > max(CLEAR, *map(abs, direct)):
        mend = "rows and columns are exchanged: transpose the pictures (height before width)"
        return [Finding("image orientation", "fault", f"{seen}; exchanged {min(crossed, key=abs):+.2f}", mend)]
    if min(map(abs, direct)) < CLEAR:
        mend = "check that frames, proprio and contract belong to the same recording"
        return [Finding("image orientation", "warning", f"{seen}: too weak to tell", mend)]
    upside_down = contract.cameras[0].orientation == "flipped"
    turned = [direct[0] < 0, (direct[1] < 0) != upside_down]
    found = [_orientation(turned, seen, contract.cameras[0].orientation)]
    signs = np.sign(direct)
    away = {shift: float(np.median(np.abs(centres - 0.5 - signs * (places[shift] - 0.5)))) for shift in SHIFTS}
    return [*found, _frame_shift(away)]


def _orientation(turned: list[bool], seen: str, declared: str) -> Finding:
    if not any(turned):
        return Finding("image orientation", "ok", f"{seen}, as the contract's {declared!r} says")
    how = {(True, False): "left to right", (False, True): "upside down", (True, True): "by half a turn"}[
        (turned[0], turned[1])
    ]
    cut = {(True, False): "[:, ::-1]", (False, True): "[::-1]", (True, True): "[::-1, ::-1]"}[(turned[0], turned[1])]
    mend = f"pictures are turned {how} against the contract's {declared!r}: use frame{cut}, or declare it"
    return Finding("image orientation", "fault", seen, mend)


def _frame_shift(away: dict[int, float]) -> Finding:
    best = min(SHIFTS, key=away.__getitem__)
    if away[best] > BETTER * away[0]:
        best = 0
    seen = ", ".join(f"{shift:+d}: {away[shift]:.2%}" if shift else f"0: {away[0]:.2%}" for shift in SHIFTS)
    text = f"distance of motion and proprio (of the picture) by shift of the proprio: {seen}"
    if best == 0:
        return Finding("frame shift", "ok", text)
    where = "later" if best > 0 else "earlier"
    mend = f"pictures show the moment one row {where} than the proprio beside them: move them by {best:+d} row"
    return Finding("frame shift", "fault", text, mend)


def _collect(episodes: Sequence[Episode], contract: Contract, axes: tuple[int, int]) -> tuple[Array, dict[int, Array]]:
    """Motion centres ``(R, 2)`` and, by shift, the proprio's places ``(R, 2)``: x, y as shares of the picture."""
    low, high = (bound[list(axes)].astype(np.float64) for bound in contract.proprio_bounds())
    centres: list[Array] = []
    places: dict[int, list[Array]] = {shift: [] for shift in SHIFTS}
    for episode in episodes:
        if len(episode) < 4:
            continue
        centre, moves = motion_centres(split(contract, episode.frames)[contract.cameras[0].name])
        place = (episode.proprio[:, list(axes)].astype(np.float64) - low) / (high - low)
        t = np.arange(1, len(episode) - 2)
        t = t[moves[t]]
        centres.append(centre[t])
        for shift in SHIFTS:
            places[shift].append((place[t + shift] + place[t + shift + 1]) / 2)
    if not centres:
        return np.zeros((0, 2)), {shift: np.zeros((0, 2)) for shift in SHIFTS}
    return np.concatenate(centres), {shift: np.concatenate(rows) for shift, rows in places.items()}


def motion_centres(frames: NDArray[np.uint8]) -> tuple[Array, NDArray[np.bool_]]:
    """Where ``(T, H, W, 3)`` frames change: ``(T - 1, 2)`` x, y as shares of the picture, and whether they do."""
    change = np.abs(np.diff(frames.astype(np.int16), axis=0)).sum(axis=-1).astype(np.float64)
    change[change < NOISE] = 0.0
    weight = change.sum(axis=(1, 2))
    scale = 1.0 / np.maximum(weight, 1.0)
    height, width = change.shape[1:]
    x = change.sum(axis=1) @ ((np.arange(width) + 0.5) / width) * scale
    y = change.sum(axis=2) @ ((np.arange(height) + 0.5) / height) * scale
    return np.stack([x, y], axis=1), weight > 8 * NOISE


def _moves(episodes: Sequence[Episode], axes: tuple[int, int]) -> bool:
    """Whether the proprio itself moves in enough frames that the pictures should."""
    steps = [np.abs(np.diff(e.proprio[:, list(axes)], axis=0)).sum(axis=1) for e in episodes]
    return bool(steps) and int((np.concatenate(steps) > 1.0).sum()) >= FEWEST_FRAMES


def _correlation(a: Array, b: Array) -> float:
    if a.std() == 0 or b.std() == 0:
        return 0.0
    return float(np.corrcoef(a, b)[0, 1])
