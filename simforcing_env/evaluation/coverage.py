"""Predicted against true coverage after some generated frames."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from simforcing_env.evaluation.outcomes import Array, Outcomes
from simforcing_env.evaluation.plots import figure
from simforcing_env.evaluation.tables import write_csv
from world_model.metrics.resampling import grouped_interval
from world_model.results import Metric

NEAR = 0.5  # true coverage from which a clip counts as near the goal
LABEL = "coverage"


def coverage_metrics(outcomes: Outcomes, generator: np.random.Generator) -> dict[str, Metric]:
    """At the last generated frame: correlation and error, of the heads on true frames and of no change beside."""
    truth, groups = outcomes.truth[LABEL][:, -1], outcomes.clips.group
    guesses = {
        "": outcomes.generated[LABEL][:, -1],
        "_true_frames": outcomes.on_truth[LABEL][:, -1],
        "_copy": outcomes.before[LABEL],
    }
    found = {}
    for suffix, guess in guesses.items():
        correlation = _correlation(guess, truth, groups, generator)
        if correlation is not None:
            found[f"pearson{suffix}"] = correlation
        found[f"mae{suffix}"] = Metric.mean(np.abs(guess - truth), generator)
    changed = np.abs(truth - outcomes.before[LABEL]) > 0.05
    for name, rows in (("near", truth > NEAR), ("changed", changed)):
        if rows.any():
            found[f"mae_{name}"] = Metric.mean(np.abs(guesses[""] - truth)[rows], generator)
            found[f"mae_copy_{name}"] = Metric.mean(np.abs(guesses["_copy"] - truth)[rows], generator)
    found["bias"] = Metric.mean(guesses[""] - truth, generator)
    found["n"] = Metric(float(len(truth)))
    return found


def coverage_table(path: Path, outcomes: Outcomes) -> None:
    """One row per clip."""
    clips, last = outcomes.clips, -1
    heading = ["start", "behaviour", "first_frame", "before", "true", "predicted", "predicted_on_true_frame"]
    columns = (
        outcomes.before[LABEL],
        *(part[LABEL][:, last] for part in (outcomes.truth, outcomes.generated, outcomes.on_truth)),
    )
    rows = [
        [clips.start[i], clips.behaviour[i], clips.first[i], *(f"{column[i]:.4f}" for column in columns)]
        for i in range(len(clips))
    ]
    write_csv(path, heading, rows)


def coverage_figure(outcomes: Outcomes) -> Any:
    """Scatter of predicted over true coverage, on generated and on true frames."""
    drawn, axes = figure(9.0, 4.4, 2)
    truth, kinds = outcomes.truth[LABEL][:, -1], np.array([s.partition("-")[0] for s in outcomes.clips.start])
    frames = outcomes.clips.horizon
    titles = (f"after {frames} generated frames", "on the true frame of that moment")
    for panel, title, values in zip(axes, titles, (outcomes.generated, outcomes.on_truth), strict=True):
        for kind in sorted(set(kinds)):
            rows = kinds == kind
            panel.plot(truth[rows], values[LABEL][rows, -1], ".", markersize=4, alpha=0.7, label=f"start {kind}-*")
        panel.plot([0, 1], [0, 1], color="0.6", linewidth=0.8)
        panel.set(
            xlabel="true coverage", ylabel="predicted coverage", title=title, xlim=(-0.02, 1.02), ylim=(-0.02, 1.02)
        )
        panel.legend(fontsize=8)
        panel.grid(alpha=0.3)
    return drawn


def _correlation(guess: Array, truth: Array, groups: Any, generator: np.random.Generator) -> Metric | None:
    """None where one of the two does not vary: there is no correlation then."""

    def pearson(rows: Any) -> float | None:
        a, b = guess[rows], truth[rows]
        return float(np.corrcoef(a, b)[0, 1]) if a.std() > 0 and b.std() > 0 else None

    value = pearson(np.arange(len(truth)))
    if value is None:
        return None
    low, high = grouped_interval(pearson, groups, generator)
    return Metric(value, low, high, len(truth))
