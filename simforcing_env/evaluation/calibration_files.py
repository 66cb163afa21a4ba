"""The files of a calibration report: table, reliability plot, pages of mistakes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from simforcing_env.evaluation.calibration import judged, reliability_figure, reliability_table
from simforcing_env.evaluation.mistakes import mistakes, mistakes_sheet, write_mistakes_page
from simforcing_env.evaluation.outcomes import Outcomes
from simforcing_env.evaluation.plots import save_figure
from simforcing_env.evaluation.tables import write_csv
from simforcing_env.pictures import write_png

NOTES = (
    "What the head saw stands left, the true frame of the same moment right. At most one frame of each clip is shown, "
    "the most mistaken first; the threshold is a probability of 0.5."
)


def write_files(target: Path, outcomes: Outcomes, events: Sequence[str]) -> None:
    """Beside the results file ``target``: the reliability table; in media/: the plot, and the mistakes about the
    first event as a web page and as a picture."""
    frames = {name: judged(outcomes, name) for name in events}
    rows = [[name, *row] for name in events for row in reliability_table(frames[name])]
    heading = ["event", "frames", "mean_probability", "share_true", "count"]
    write_csv(target.with_name(f"{target.stem}-reliability.csv"), heading, rows)
    media = target.parent / "media"
    save_figure(media / f"{target.stem}.png", reliability_figure(frames))
    kinds = [(kind, source) for kind in ("false positives", "misses") for source in ("generated", "true")]
    sections = {f"{kind} on {source} frames": mistakes(outcomes, events[0], source, kind) for kind, source in kinds}
    write_mistakes_page(media / f"{target.stem}-mistakes.html", f"Mistakes about {events[0]}", NOTES, sections)
    shown = mistakes(outcomes, events[0], "generated", "false positives", limit=18)
    write_png(media / f"{target.stem}-false-positives.png", mistakes_sheet(shown))
