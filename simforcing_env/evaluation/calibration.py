"""How far the success probability can be trusted, on true frames and on generated frames of the same moments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simforcing_env.evaluation.outcomes import Array, Outcomes
from simforcing_env.evaluation.plots import figure
from world_model.errors import InputError
from world_model.metrics.calibration import auroc, brier, expected_calibration_error, reliability
from world_model.metrics.resampling import grouped_interval
from world_model.results import Metric

SOURCES = ("true", "generated")
FEWEST = 10  # frames of a bin that is drawn


@dataclass(frozen=True)
class Judged:
    """One event, ``(N,)`` frames: probabilities on both kinds of frames and what was true."""

    event: Array  # 0 or 1
    true: Array
    generated: Array
    episode: NDArray[np.int64]

    def probability(self, source: str) -> Array:
        return self.true if source == "true" else self.generated


def check_event(name: str, event: NDArray[Any]) -> None:
    """Refuse an event of which nothing can be said.

    Raises:
        InputError: it is always or never true.
    """
    if not 0 < event.mean() < 1:
        raise InputError(
            f"{name} is {'always' if event.flat[0] else 'never'} true in {event.size} frames; "
            "give more episodes, or ones with other outcomes"
        )


def judged(outcomes: Outcomes, event: str) -> Judged:
    """All generated moments of all clips, flat.

    Raises:
        InputError: as `check_event`.
    """
    check_event(event, outcomes.truth[event])
    return Judged(
        outcomes.truth[event].ravel(),
        outcomes.on_truth[event].ravel(),
        outcomes.generated[event].ravel(),
        np.repeat(outcomes.clips.group, outcomes.clips.horizon),
    )


def calibration_metrics(frames: Judged, generator: np.random.Generator, resamples: int = 400) -> dict[str, Metric]:
    """Brier, AUROC and calibration error of both sources with intervals over episodes, and the base rate's Brier."""
    statistics: Sequence[tuple[str, Callable[[Array, Array], float]]] = (
        ("brier", brier),
        ("auroc", auroc),
        ("ece", expected_calibration_error),
    )
    found = {}
    for name, statistic in statistics:
        for source in SOURCES:
            found[f"{name}_{source}"] = _with_interval(statistic, frames, source, generator, resamples)
    rate, count = float(frames.event.mean()), len(frames.event)
    found["base_rate"] = Metric(rate, n=count)
    found["brier_base_rate"] = Metric(rate * (1 - rate), n=count)
    for source in SOURCES:
        said = frames.probability(source) >= 0.5
        found[f"false_positives_{source}"] = Metric(float((said & (frames.event < 0.5)).sum()), n=count, unit="frames")
        found[f"misses_{source}"] = Metric(float((~said & (frames.event > 0.5)).sum()), n=count, unit="frames")
    found["events"] = Metric(float(frames.event.sum()), n=count, unit="frames")
    return found


def reliability_table(frames: Judged) -> list[list[object]]:
    """Rows (source, mean probability, share of events, frames) of the reliability curves."""
    rows: list[list[object]] = []
    for source in SOURCES:
        curve = reliability(frames.probability(source), frames.event)
        for p, y, n in zip(curve.predicted, curve.observed, curve.counts, strict=True):
            rows.append([source, f"{p:.4f}", f"{y:.4f}", int(n)])
    return rows


def reliability_figure(events: dict[str, Judged]) -> Any:
    """Reliability curves of each event on true and generated frames; numbers are frames in the bin, at least 10."""
    drawn, axes = figure(4.6 * len(events), 4.4, len(events))
    for panel, (name, frames) in zip(axes, events.items(), strict=True):
        panel.plot([0, 1], [0, 1], color="0.6", linewidth=0.8)
        for source, style in zip(SOURCES, ("o-", "s--"), strict=True):
            curve = reliability(frames.probability(source), frames.event)
            full = curve.counts >= FEWEST
            (line,) = panel.plot(
                curve.predicted[full], curve.observed[full], style, markersize=4, label=f"{source} frames"
            )
            for p, y, n in zip(*(column[full] for column in curve), strict=True):
                place = (4, -8) if source == "generated" else (-4, 5)
                panel.annotate(
                    str(n), (p, y), fontsize=6, xytext=place, textcoords="offset points", color=line.get_color()
                )
        panel.set(xlabel="predicted probability", ylabel="share of frames in which it is true", title=name)
        panel.legend(fontsize=8)
        panel.grid(alpha=0.3)
    return drawn


def _with_interval(
    statistic: Callable[[Array, Array], float],
    frames: Judged,
    source: str,
    generator: np.random.Generator,
    resamples: int,
) -> Metric:
    p, y = frames.probability(source), frames.event

    def on_rows(rows: NDArray[np.intp]) -> float | None:
        if not 0 < y[rows].mean() < 1:
            return None
        return statistic(p[rows], y[rows])

    low, high = grouped_interval(on_rows, frames.episode, generator, resamples)
    return Metric(statistic(p, y), low, high, len(y))
