"""A video report as named metrics with intervals over episodes, and as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from simforcing_env.evaluation.following import following_metrics
from simforcing_env.evaluation.tables import write_csv
from simforcing_env.evaluation.trust import trust_metrics
from simforcing_env.evaluation.video import UNREADABLE_PX, Array, VideoReport
from world_model.metrics.clips import group_means
from world_model.results import Metric

_UNITS = {"psnr": "dB", "agent_px": "px", "block_px": "px", "block_deg": "degrees", "proprio_px": "px"}
_BASELINES = ("", "_copy", "_velocity")
_ONE = "_one_frame"


def video_metrics(report: VideoReport, horizons: Sequence[int], generator: np.random.Generator) -> dict[str, Metric]:
    """Flat metrics; ``_hK`` is at frame K (not the mean up to it), intervals are over episodes.

    Those that end in ``_one_frame`` are of the rollouts from one known frame.
    """
    episode, curves = report.clips.group, report.curves

    def mean(values: Array, unit: str = "", rows: np.ndarray | None = None) -> Metric | None:
        chosen = np.ones(len(values), bool) if rows is None else rows
        if not chosen.any():
            return None
        return Metric.mean(group_means(values[chosen], episode[chosen]), generator, unit)

    found: dict[str, Metric | None] = {}
    for k in horizons:
        at, moving = k - 1, report.moving[:, k - 1]
        for name, unit in _UNITS.items():
            for suffix in _BASELINES if name != "proprio_px" else ("",):
                found[f"{name}{suffix}_h{k}"] = mean(curves[name + suffix][:, at], unit)
            if name + _ONE in curves:
                found[f"{name}_h{k}{_ONE}"] = mean(curves[name + _ONE][:, at], unit)
        for name, values in report.at_horizon.items():
            found[f"{name}_h{k}"] = mean(values[k])
        gain = curves["psnr"] - curves["psnr_copy"]
        found[f"psnr_moving_gain_h{k}"] = mean(gain[:, at], "dB", moving)
        for name in ("block_px", "block_deg"):
            found[f"{name}_moving_h{k}"] = mean(curves[name][:, at], _UNITS[name], moving)
            found[f"{name}_median_h{k}"] = Metric(
                float(np.median(curves[name][:, at])), n=len(episode), unit=_UNITS[name]
            )
        found[f"unreadable_h{k}"] = mean((curves["misfit"][:, at] > UNREADABLE_PX).astype(np.float64))
        trust = trust_metrics(curves["uncertainty"][:, at], curves["block_px"][:, at], episode, generator)
        found |= {f"uncertainty_{name}_h{k}": metric for name, metric in trust.items()}
        found[f"psnr_mean_to_h{k}"] = mean(curves["psnr"][:, :k].mean(1), "dB")
        found[f"moving_clips_h{k}"] = Metric(float(moving.sum()), n=len(episode))
    for name, source in (("reader_px", "block_px"), ("reader_agent_px", "agent_px"), ("reader_deg", "block_deg")):
        found[name] = mean(curves[f"reader_{source}"].mean(1), _UNITS[source])
    found |= following_metrics(curves, mean)
    found["clips"] = Metric(float(len(episode)), n=len(np.unique(episode)))
    return {name: metric for name, metric in found.items() if metric is not None}


def headline(metrics: Mapping[str, Metric], horizon: int = 16) -> dict[str, Metric]:
    """The metrics of the results file: PSNR at every horizon, all else at one; the rest stands in the table."""
    at, others = f"_h{horizon}", ("_copy_", "_velocity_")

    def kept(name: str) -> bool:
        return "_h" not in name or name.startswith("psnr_h") or (name.endswith(at) and not _secondary(name, others))

    return {name: metric for name, metric in metrics.items() if kept(name.removesuffix(_ONE))}


def _secondary(name: str, baselines: Sequence[str]) -> bool:
    """Whether a metric is a baseline's other than in PSNR and block position."""
    return any(b in name for b in baselines) and not name.startswith(("psnr", "block_px"))


def write_metric_table(path: Path, metrics: Mapping[str, Metric]) -> None:
    """One row per metric, those that the results file leaves out included."""
    heading = ["metric", "value", "low", "high", "n", "unit"]
    rows = []
    for name, m in metrics.items():
        numbers = ["" if x is None else f"{x:.5g}" for x in (m.value, m.low, m.high)]
        rows.append([name, *numbers, "" if m.n is None else m.n, m.unit])
    write_csv(path, heading, rows)


def write_clip_table(path: Path, report: VideoReport, horizons: Sequence[int]) -> None:
    """One row per clip: where it is from and its numbers at each horizon."""
    names = [n + s for n in _UNITS for s in (*_BASELINES, _ONE) if n + s in report.curves]
    heading = ["episode", "start", "behaviour", "first_frame"]
    heading += [f"moving_h{k}" for k in horizons] + [f"{n}_h{k}" for n in names for k in horizons]
    rows = []
    for i in range(len(report.clips)):
        clips = report.clips
        row: list[object] = [clips.episode[i], clips.start[i], clips.behaviour[i], clips.first[i]]
        row += [int(report.moving[i, k - 1]) for k in horizons]
        row += [f"{report.curves[n][i, k - 1]:.3f}" for n in names for k in horizons]
        rows.append(row)
    write_csv(path, heading, rows)


def write_curve_table(path: Path, report: VideoReport) -> None:
    """One row per generated frame: means over all clips."""
    names = sorted(report.curves)
    means = {n: report.curves[n].mean(0) for n in names}
    frames = range(report.clips.horizon)
    write_csv(path, ["frame", *names], [[k + 1, *(f"{means[n][k]:.4f}" for n in names)] for k in frames])
