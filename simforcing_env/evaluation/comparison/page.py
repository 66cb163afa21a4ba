"""A comparison as one web page that needs nothing else: pictures and films are inside."""

from __future__ import annotations

import base64
import html
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from simforcing_env.commands.tables import show
from simforcing_env.evaluation.comparison.films import KINDS
from simforcing_env.evaluation.comparison.markup import STYLE, table
from simforcing_env.evaluation.comparison.protocol import Protocol
from simforcing_env.evaluation.comparison.scores import Scores, success
from simforcing_env.evaluation.plots import figure, save_figure
from world_model.atomic import replace_text
from world_model.results import Metric, wilson

FILMS = 3  # of each kind in the page
TITLES = {
    "true-alone": "Success in truth alone",
    "learned-alone": "Success in imagination alone",
    "both-succeed": "Success on both sides",
    "both-fail": "Failure on both sides",
}
HEADLINES = ("pearson", "spearman", "kendall", "mmrv", "bias", "kappa", "noise_floor", "speedup")


def write_page(
    path: Path,
    protocol: Protocol,
    scores: Scores,
    metrics: Mapping[str, Metric],
    tables: Mapping[str, tuple[Sequence[str], Sequence[Sequence[object]]]],
) -> None:
    """Write ``media/<name>.png`` and ``media/<name>.html`` beside the results ``path``."""
    media = path.parent / "media"
    drawn = scatter(scores)
    save_figure(media / f"{path.stem}.png", drawn)
    title = f"{protocol.env} against {protocol.teacher}"
    parts = [f"<!doctype html><html lang=en><meta charset=utf-8><title>{html.escape(title)}</title>"]
    parts += [f"<style>{STYLE}</style><h1>{html.escape(title)}</h1>"]
    parts += [
        f"<p>{len(scores.policies)} policies from the same {len(scores.starts)} starts on both sides, "
        f"{len(scores.policies) * len(scores.starts)} episodes each. Intervals are 95 %.</p>"
    ]
    first = {name: metrics[name] for name in HEADLINES if name in metrics}
    parts += [_metric_table(first), f"<img src='{_png(media / f'{path.stem}.png')}' alt='scores of both sides'>"]
    for heading, (columns, lines) in tables.items():
        rows = [[number, *line] for number, line in enumerate(lines, 1)]  # policies have these numbers in the picture
        shown = len(rows) <= 30
        parts += [f"<details{' open' if shown else ''}><summary>{html.escape(heading)} ({len(rows)})</summary>"]
        parts += [f"<div class=wide>{table(['no', *columns], rows)}</div></details>"]
    parts += ["<h2>Episodes</h2><p>True left, learned right, four times as fast as life.</p>"]
    parts += _films(path.with_suffix(".films"), scores)
    rest = {name: metric for name, metric in metrics.items() if name not in first}
    parts += ["<details open><summary>All numbers</summary>", _metric_table(rest), "</details>"]
    facts = [[name, value] for name, value in {**asdict(protocol), "protocol": protocol.hash}.items()]
    parts += ["<details open><summary>Protocol and hashes</summary>", table(["setting", "value"], facts), "</details>"]
    replace_text(media / f"{path.stem}.html", "\n".join(parts) + "\n</html>\n")


def scatter(scores: Scores) -> Any:
    """Learned over true success of each policy with Wilson intervals; beside it the two true runs."""
    again = scores.again is not None
    drawn, axes = figure(10.0 if again else 5.2, 4.8, 2 if again else 1)
    once = success(scores.true)
    panels = [("learned success", "same policies, same starts", once, success(scores.learned))]
    if scores.again is not None:
        title = "noise floor: truth against truth"
        panels.append(("true success, other seeds", title, once[:, scores.floor], success(scores.again)))
    for axis, (label, title, true, other) in zip(axes, panels, strict=True):
        named: dict[tuple[float, float], list[str]] = {}  # policies with the same scores share a point
        axis.plot([0, 1], [0, 1], color="0.7", linewidth=0.8, zorder=0)
        for i, _ in enumerate(scores.policies):
            x, y = float(true[i].mean()), float(other[i].mean())
            bars = [_bars(side[i]) for side in (true, other)]
            axis.errorbar(x, y, xerr=bars[0], yerr=bars[1], fmt="o", markersize=5, elinewidth=0.6, color=f"C{i % 10}")
            named.setdefault((x, y), []).append(str(i + 1))
        for place, numbers in named.items():
            axis.annotate(", ".join(numbers), place, textcoords="offset points", xytext=(5, 4), fontsize=8)
        axis.set(xlabel="true success", ylabel=label, title=title, xlim=(-0.03, 1.03), ylim=(-0.03, 1.03))
        axis.grid(alpha=0.3)
        axis.set_aspect("equal")
    return drawn


def _bars(outcomes: np.ndarray[Any, Any]) -> list[list[float]]:
    rate = float(outcomes.mean())
    low, high = wilson(int(outcomes.sum()), len(outcomes))
    return [[max(rate - low, 0.0)], [max(high - rate, 0.0)]]


def _films(folder: Path, scores: Scores) -> list[str]:
    parts = []
    assert set(TITLES) == set(KINDS.values())
    for kind, title in TITLES.items():
        found = [
            (i, name, folder / f"{digest}-{kind}.webp")
            for i, (name, digest) in enumerate(zip(scores.policies, scores.hashes, strict=True), 1)
        ]
        found = [entry for entry in found if entry[2].exists()]
        if not found:
            continue
        picked = [
            found[k] for k in np.unique(np.linspace(0, len(found) - 1, min(FILMS, len(found))).round().astype(int))
        ]
        parts.append(f"<h3>{title}</h3>")
        for number, name, film in picked:
            source = "data:image/webp;base64," + base64.b64encode(film.read_bytes()).decode()
            said = html.escape(f"{number}: {name}")
            parts.append(f"<figure><img src='{source}' alt=''><figcaption>{said}</figcaption></figure>")
    return parts


def _metric_table(metrics: Mapping[str, Metric]) -> str:
    rows = []
    for name, metric in metrics.items():
        interval = "" if metric.low is None or metric.high is None else f"{show(metric.low)} to {show(metric.high)}"
        count = "" if metric.n is None else metric.n
        rows.append([name, show(metric.value), interval, count, metric.unit])
    return table(["number", "value", "95 %", "n", "unit"], rows)


def _png(path: Path) -> str:
    return "data:image/png;base64," + base64.b64encode(path.read_bytes()).decode()
