"""Tables beside a results file."""

from __future__ import annotations

import csv
import os
from collections.abc import Sequence
from pathlib import Path


def write_csv(path: Path, heading: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """A table that appears whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{os.getpid()}.{path.name}")
    with temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(heading)
        writer.writerows(rows)
    temporary.replace(path)
