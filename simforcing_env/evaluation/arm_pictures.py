"""A robot arm's generated frames below true ones, clip by clip."""

from __future__ import annotations

import numpy as np

from simforcing_env.evaluation.arm_video import ArmReport
from simforcing_env.evaluation.pictures import framed, text
from simforcing_env.pictures import Picture, caption, column, row

SHOWN = (1, 8, 16, 32)  # generated frames in the grid
LABEL = 170  # px


def arm_grid(report: ArmReport, count: int = 6, horizon: int = 16) -> Picture:
    """Clips in which an object moves, from the best down to the worst by PSNR at ``horizon``."""
    at = min(horizon, report.clips.horizon) - 1
    moving = np.flatnonzero(report.moving[:, at])
    candidates = moving if len(moving) else np.arange(len(report.clips))
    ranked = candidates[np.argsort(-report.curves["psnr"][candidates, at], kind="stable")]
    chosen = ranked[np.unique(np.linspace(0, len(ranked) - 1, count).round().astype(int))]
    shown = [k for k in SHOWN if k <= report.clips.horizon]
    parts: list[Picture] = []
    for i in chosen:
        known, true, made = report.clips.last[i, 0], report.clips.truth[i], report.frames[i]
        strips = [row([framed(known, scale=1), *(framed(f[k - 1], scale=1) for k in shown)]) for f in (true, made)]
        facts = [
            report.clips.start[i],
            report.clips.behaviour[i],
            f"frame {at + 1}: {report.curves['psnr'][i, at]:.1f} dB",
        ]
        labels = (["true", *facts], ["generated"])
        parts += [row([text(ls, LABEL, s.shape[0]), s]) for ls, s in zip(labels, strips, strict=True)]
        parts.append(np.full((6, 1, 3), 255, np.uint8))
    side = framed(report.clips.last[0, 0], scale=1).shape[1]
    titles = [caption("", LABEL), caption("last known", side), *(caption(f"frame {k}", side) for k in shown)]
    return column([row(titles), *parts])
