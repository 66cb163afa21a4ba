"""A robot arm's generated frames below true ones, clip by clip."""

from __future__ import annotations

import numpy as np

from simforcing_env.evaluation.arm_video import ArmReport
from simforcing_env.evaluation.pictures import compared, framed, headings
from simforcing_env.pictures import Picture, column

SHOWN = (1, 8, 16, 32)  # generated frames in the grid


def arm_grid(report: ArmReport, count: int = 6, horizon: int = 16) -> Picture:
    """Clips in which an object moves, from the best down to the worst by PSNR at ``horizon``."""
    at = min(horizon, report.clips.horizon) - 1
    moving = np.flatnonzero(report.moving[:, at])
    candidates = moving if len(moving) else np.arange(len(report.clips))
    ranked = candidates[np.argsort(-report.curves["psnr"][candidates, at], kind="stable")]
    chosen = ranked[np.unique(np.linspace(0, len(ranked) - 1, count).round().astype(int))]
    shown = [k for k in SHOWN if k <= report.clips.horizon]
    rows = []
    for i in chosen:
        quality = f"frame {at + 1}: {report.curves['psnr'][i, at]:.1f} dB"
        facts = ["true", report.clips.start[i], report.clips.behaviour[i], quality]
        known = report.clips.last[i, 0]
        true, made = ([known, *(f[k - 1] for k in shown)] for f in (report.clips.truth[i], report.frames[i]))
        rows.append(compared(true, made, facts, ["generated"], scale=1))
    return column([headings(["last known", *(f"frame {k}" for k in shown)], framed(known, 1).shape[1]), *rows])
