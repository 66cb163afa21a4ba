"""Pages of the frames that the success head is wrong about, worst first."""

from __future__ import annotations

import base64
import html
import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from simforcing_env.evaluation.outcomes import Outcomes
from simforcing_env.evaluation.pictures import framed, text
from simforcing_env.pictures import Picture, column, row
from world_model.atomic import replace_text

COVERAGE = "coverage"
_STYLE = "body{font:14px sans-serif;margin:2em}figure{display:inline-block;margin:6px}figcaption{font-size:12px}"


@dataclass(frozen=True)
class Mistake:
    """One frame: what the head saw, the true frame of that moment, and what was said about it."""

    seen: Picture
    true: Picture
    facts: tuple[str, ...]


def mistakes(outcomes: Outcomes, event: str, source: str, kind: str, limit: int = 40) -> list[Mistake]:
    """``kind`` "false positives" or "misses" on ``source`` "true" or "generated" frames, at most one from each clip."""
    values = outcomes.on_truth if source == "true" else outcomes.generated
    said, event_true = values[event], outcomes.truth[event] > 0.5
    wrong = (said >= 0.5) & ~event_true if kind == "false positives" else (said < 0.5) & event_true
    surprise = np.where(wrong, np.abs(said - event_true), -1.0)
    frame = surprise.argmax(1)
    worst = surprise[np.arange(len(frame)), frame]
    order = [int(i) for i in np.argsort(-worst, kind="stable") if worst[i] >= 0][:limit]
    return [_mistake(outcomes, values, event, source, i, int(frame[i])) for i in order]


def _mistake(
    outcomes: Outcomes, values: dict[str, NDArray[np.float64]], event: str, source: str, i: int, k: int
) -> Mistake:
    true = outcomes.clips.truth[i, k]
    seen = true if source == "true" else outcomes.frames[i, k]
    facts = [outcomes.clips.start[i], f"frame {k + 1}", f"probability {values[event][i, k]:.2f}"]
    if COVERAGE in outcomes.truth:
        facts.append(f"coverage {outcomes.truth[COVERAGE][i, k]:.3f}, read {values[COVERAGE][i, k]:.3f}")
    return Mistake(seen, true, tuple(facts))


def mistakes_sheet(found: list[Mistake], columns: int = 6) -> Picture:
    """Thumbnails, what was seen beside the truth."""
    tiles = []
    for mistake in found:
        pair = row([framed(mistake.seen), framed(mistake.true)])
        tiles.append(column([pair, text(mistake.facts, pair.shape[1], 18 * len(mistake.facts))]))
    if not tiles:
        return text(["none"], 200, 18)
    rows = [row(tiles[i : i + columns], gap=8) for i in range(0, len(tiles), columns)]
    return column(rows, gap=8)


def write_mistakes_page(path: Path, title: str, notes: str, sections: dict[str, list[Mistake]]) -> None:
    """A web page of its own: pictures are inside. What the head saw stands left, the true frame right."""
    parts = [f"<!doctype html><meta charset=utf-8><title>{html.escape(title)}</title><style>{_STYLE}</style>"]
    parts.append(f"<h1>{html.escape(title)}</h1><p>{html.escape(notes)}</p>")
    for heading, found in sections.items():
        parts.append(f"<h2>{html.escape(heading)}: {len(found)} clips</h2>")
        for mistake in found:
            pair = row([framed(mistake.seen), framed(mistake.true)])
            caption = "<br>".join(html.escape(fact) for fact in mistake.facts)
            parts.append(f"<figure><img src='{_data_url(pair)}' alt=''><figcaption>{caption}</figcaption></figure>")
    replace_text(path, "\n".join(parts) + "\n")


def _data_url(picture: Picture) -> str:
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(picture).quantize(64).save(buffer, "PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()
