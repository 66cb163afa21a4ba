"""Ledgers: one JSON line for each thing that was done, so that an interrupted run goes on where it stopped."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from world_model.errors import DataError


def read_ledger(path: Path) -> list[dict[str, Any]]:
    """The records in order, none for a missing file; an unfinished last line, left by a kill, is passed over.

    Raises:
        DataError: another line is damaged.
    """
    records: list[dict[str, Any]] = []
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True) if path.exists() else []
    for number, line in enumerate(lines, 1):
        try:
            record = json.loads(line)
            if not isinstance(record, dict):
                raise TypeError(f"{type(record).__name__} in place of a record")
        except (ValueError, TypeError) as error:
            if number == len(lines) and not line.endswith("\n"):
                break
            raise DataError(f"line {number} of {path} is no record ({error}); delete that line") from error
        records.append(record)
    return records


def append_records(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    """Add records, each on a line of its own; half a line that a kill left is removed first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(dict(record)) + "\n" for record in records)
    with path.open("ab+") as file:
        end = file.seek(0, 2)
        if end:
            file.seek(end - 1)
            if file.read(1) != b"\n":
                file.seek(0)
                file.truncate(file.read().rfind(b"\n") + 1)
        file.write(text.encode())
