"""Curves, scatter and reliability plots of reports."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from simforcing_env.evaluation.video import VideoReport
from world_model.atomic import replacing_file
from world_model.extras import require


def figure(width: float, height: float, columns: int = 1) -> tuple[Any, list[Any]]:
    """A matplotlib figure in inches that needs no display, and its axes.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    drawn = require("matplotlib.figure", "train").Figure(figsize=(width, height), layout="constrained", dpi=110)
    return drawn, list(np.atleast_1d(drawn.subplots(1, columns)))


def save_figure(path: Path, drawn: Any) -> None:
    """Write a figure as PNG; the file appears whole or not at all."""
    with replacing_file(path) as temporary:
        drawn.savefig(temporary, format="png")


def curve_figure(report: VideoReport) -> Any:
    """PSNR and block position error by generated frame, with the baselines."""
    drawn, (left, right) = figure(9.0, 3.4, 2)
    frames = np.arange(1, report.clips.horizon + 1)
    styles = {
        "": ("generated", "-"),
        "_copy": ("copy of the last frame", "--"),
        "_velocity": ("constant velocity", ":"),
    }
    for suffix, (title, style) in styles.items():
        left.plot(frames, report.curves[f"psnr{suffix}"].mean(0), style, label=title)
        right.plot(frames, report.curves[f"block_px{suffix}"].mean(0), style, label=title)
    for name in ("shuffled", "zero"):
        left.plot(frames, report.curves[f"psnr_{name}"].mean(0), linewidth=0.8, label=f"generated, {name} actions")
    read = report.curves["reader_block_px"].mean(0)
    right.plot(frames, read, color="0.6", linewidth=0.8, label="reader on true frames")
    left.set(xlabel="generated frame", ylabel="PSNR, dB")
    right.set(xlabel="generated frame", ylabel="block position error, px of 512")
    for axes in (left, right):
        axes.legend(fontsize=7)
        axes.grid(alpha=0.3)
    return drawn
