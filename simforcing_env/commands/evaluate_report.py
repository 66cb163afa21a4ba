"""One web page of results files: tables, curves, films beside the truth, error maps, the protocol's words and hashes.

The page holds everything it shows and needs no network. What stands beside a results file (pictures and films in
media/) is taken from there, so a report can be made again without a model.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from simforcing_env.commands.checks import results_file


@dataclass(frozen=True)
class Config:
    """Options of ``simforcing evaluate report``."""

    out: tyro.conf.Positional[Path]
    """The page to write."""
    results: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """Results files, in the order of the page."""
    title: str = "How good the learned simulator is"
    """Heading of the page."""


def run(config: Config) -> None:
    """Read, lay out, write."""
    from simforcing_env.evaluation.report_page import write_report

    results_file(config.out, "the page")
    write_report(config.out, config.results, config.title)
    print(f"written: {config.out}")
