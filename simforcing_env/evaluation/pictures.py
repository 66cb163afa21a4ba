"""Generated frames below true ones, clip by clip."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from simforcing_env.evaluation.video import VideoReport
from simforcing_env.pictures import Picture, caption, column, row

SHOWN = (1, 4, 8, 16, 24, 32)  # generated frames in the grid
LABEL = 170  # px
GREY = 160


def comparison_grid(report: VideoReport, count: int = 8, horizon: int = 16) -> Picture:
    """Clips in which the block moves, from the best down to the worst by block position at ``horizon``.

    Each has its true row above its generated row; the last known frame stands first.
    """
    horizon = min(horizon, report.clips.horizon)
    moving = np.flatnonzero(report.moving[:, horizon - 1])
    candidates = moving if len(moving) else np.arange(len(report.clips))
    ranked = candidates[np.argsort(report.curves["block_px"][candidates, horizon - 1], kind="stable")]
    chosen = ranked[np.unique(np.linspace(0, len(ranked) - 1, count).round().astype(int))]
    shown = [k for k in SHOWN if k <= report.clips.horizon]
    rows = []
    for i in chosen:
        px, deg = (report.curves[name][i, horizon - 1] for name in ("block_px", "block_deg"))
        facts = [
            report.clips.start[i],
            report.clips.behaviour[i],
            f"block at frame {horizon}:",
            f"{px:.1f} px, {deg:.1f} deg",
        ]
        known = report.clips.last[i, 0]
        true, made = ([known, *(f[k - 1] for k in shown)] for f in (report.clips.truth[i], report.frames[i]))
        rows.append(compared(true, made, ["true", *facts], ["generated"]))
    return column([headings(["last known", *(f"frame {k}" for k in shown)], framed(known).shape[1]), *rows])


def compared(
    true: Sequence[Picture],
    made: Sequence[Picture],
    said: Sequence[str],
    said_below: Sequence[str],
    scale: int = 2,
    label: int = LABEL,
) -> Picture:
    """True frames above generated ones, each row behind its lines of text, and a gap below."""
    return strips([(said, true), (said_below, made)], scale, label)


def strips(rows: Sequence[tuple[Sequence[str], Sequence[Picture]]], scale: int = 2, label: int = LABEL) -> Picture:
    """Rows of frames below one another, each behind its lines of text, and a gap below."""
    parts: list[Picture] = []
    for lines, frames in rows:
        strip = row([framed(frame, scale) for frame in frames])
        parts.append(row([text(lines, label, strip.shape[0]), strip]))
    return column([*parts, np.full((6, 1, 3), 255, np.uint8)])


def models_grid(true: NDArray[np.uint8], made: Mapping[str, NDArray[np.uint8]]) -> Picture:
    """Clips ``(B, h + n, H, W, 3)``, below each a row for what each model ``(B, n, H, W, 3)`` generated."""
    count = next(iter(made.values())).shape[1]
    shown = [k for k in SHOWN if k < count] + [count]
    known = true.shape[1] - count - 1
    rows = []
    for i, clip in enumerate(true):
        first = clip[known]
        lines = [(["true"], [first, *(clip[known + k] for k in shown)])]
        lines += [([name], [first, *(frames[i][k - 1] for k in shown)]) for name, frames in made.items()]
        rows.append(strips(lines))
    return column([headings(["last known", *(f"frame {k}" for k in shown)], framed(true[0, 0]).shape[1]), *rows])


def headings(titles: Sequence[str], side: int) -> Picture:
    """A line of text above `compared` rows whose frames are ``side`` wide."""
    return row([caption("", LABEL), *(caption(title, side) for title in titles)])


def framed(frame: Picture, scale: int = 2, edge: int = 1) -> Picture:
    """A small frame enlarged, with a grey edge."""
    large = frame.repeat(scale, 0).repeat(scale, 1)
    return np.pad(large, ((edge, edge), (edge, edge), (0, 0)), constant_values=GREY)


def text(lines: Sequence[str], width: int, height: int) -> Picture:
    """Lines of text from the top of a white picture ``(height, width, 3)``."""
    written = column([caption(line, width) for line in lines])[:height]
    return np.pad(written, ((0, height - written.shape[0]), (0, 0), (0, 0)), constant_values=255)
