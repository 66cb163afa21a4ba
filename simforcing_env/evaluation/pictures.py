"""Generated frames below true ones, clip by clip."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

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
    parts: list[Picture] = []
    for i in chosen:
        known, true, made = report.clips.last[i, 0], report.clips.truth[i], report.frames[i]
        strips = [row([framed(known), *(framed(frames[k - 1]) for k in shown)]) for frames in (true, made)]
        px, deg = (report.curves[name][i, horizon - 1] for name in ("block_px", "block_deg"))
        facts = [
            report.clips.start[i],
            report.clips.behaviour[i],
            f"block at frame {horizon}:",
            f"{px:.1f} px, {deg:.1f} deg",
        ]
        labels = (["true", *facts], ["generated"])
        parts += [row([text(ls, LABEL, s.shape[0]), s]) for ls, s in zip(labels, strips, strict=True)]
        parts.append(np.full((6, 1, 3), 255, np.uint8))
    side = framed(report.clips.last[0, 0]).shape[1]
    titles = [caption("", LABEL), caption("last known", side), *(caption(f"frame {k}", side) for k in shown)]
    return column([row(titles), *parts])


def framed(frame: Picture, scale: int = 2, edge: int = 1) -> Picture:
    """A small frame enlarged, with a grey edge."""
    large = frame.repeat(scale, 0).repeat(scale, 1)
    return np.pad(large, ((edge, edge), (edge, edge), (0, 0)), constant_values=GREY)


def text(lines: Sequence[str], width: int, height: int) -> Picture:
    """Lines of text from the top of a white picture ``(height, width, 3)``."""
    written = column([caption(line, width) for line in lines])[:height]
    return np.pad(written, ((0, height - written.shape[0]), (0, 0), (0, 0)), constant_values=255)
