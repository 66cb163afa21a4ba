"""Tables beside a results file."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

from world_model.atomic import replacing_file


def write_csv(path: Path, heading: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """A table that appears whole or not at all."""
    with replacing_file(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(heading)
        writer.writerows(rows)
