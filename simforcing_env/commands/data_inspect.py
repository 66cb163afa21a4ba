"""Which layout recorded data have, what they hold, what they leave unclear, and what in them is damaged.

Exit status 1 when an episode, or one of several sets, cannot be read.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from simforcing_env.commands.checks import at_least, results_file
from world_model.errors import SimforcingError


@dataclass(frozen=True)
class Config:
    """What to look at, and how thoroughly."""

    path: Annotated[Path, tyro.conf.Positional]
    """A data set's folder or file, or a folder that holds some."""
    layout: str | None = None
    """Layout, where it is not to be found out."""
    episodes: int = 1000
    """Episodes whose numbers are read; 0 for all."""
    pictures: int = 6
    """Episodes whose pictures are read, spread over the former."""
    sheet: Path | None = None
    """PNG with frames of those episodes."""
    json: Path | None = None
    """File for the same as JSON."""


def run(config: Config) -> None:
    """Print what was found."""
    at_least(0, episodes=config.episodes, pictures=config.pictures)
    results_file(config.json)
    results_file(config.sheet, "--sheet")
    from simforcing_env.data_report import Report, inspect_set, lines, sheet_of
    from simforcing_env.pictures import write_png
    from world_model.atomic import replace_text
    from world_model.data.readers.registry import Found, find_sets

    def progress(text: str) -> None:
        if sys.stderr.isatty():
            print(f"\r{text}\x1b[K", end="", file=sys.stderr, flush=True)

    sets = find_sets(config.path) if config.layout is None else [Found(config.layout, config.path)]
    reports: list[Report] = []
    closed: dict[Found, str] = {}
    for found in sets:
        try:
            reports.append(inspect_set(found, config.episodes, config.pictures, progress))
        except SimforcingError as error:
            if len(sets) == 1:
                raise
            closed[found] = str(error)
    progress("")
    for report in reports:
        print("\n".join(lines(report)))
    for found, problem in closed.items():
        print(f"{found.path}: layout {found.layout}\n  PROBLEM   {problem}")
    if config.json is not None:
        told = [report.to_json() for report in reports]
        told += [{"path": str(f.path), "layout": f.layout, "problems": [problem]} for f, problem in closed.items()]
        replace_text(config.json, json.dumps(told, indent=2) + "\n")
    sheet = sheet_of(reports)
    if config.sheet is not None:
        if sheet is None:
            print("no pictures were read, so no sheet is written", file=sys.stderr)
        else:
            write_png(config.sheet, sheet)
            print(f"sheet: {config.sheet}")
    if closed or any(report.problems for report in reports):
        raise SystemExit(1)
