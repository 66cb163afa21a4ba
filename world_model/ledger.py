"""Ledgers: one JSON line for each thing that was done, so that an interrupted run goes on where it stopped.

Beside a finished one may stand its packed form, ``<name>.gz``, which is read where the ledger itself is not there.
"""

from __future__ import annotations

import fcntl
import gzip
import json
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from world_model.atomic import replacing_file
from world_model.errors import DataError


def read_ledger(path: Path) -> list[dict[str, Any]]:
    """The records in order, none where there is no file; an unfinished last line, left by a kill, is passed over.

    Raises:
        DataError: another line is damaged.
    """
    records: list[dict[str, Any]] = []
    lines = _content(path).decode(errors="replace").splitlines(keepends=True)
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
    """Add records, each on a line of its own; half a line that a kill left is removed first.

    Processes may add to one ledger side by side.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() and (known := _content(path)):
        with replacing_file(path) as temporary:
            temporary.write_bytes(known)
    text = "".join(json.dumps(dict(record)) + "\n" for record in records)
    with path.open("ab+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        end = file.seek(0, 2)
        if end:
            file.seek(end - 1)
            if file.read(1) != b"\n":
                file.seek(0)
                file.truncate(file.read().rfind(b"\n") + 1)
        file.write(text.encode())


def pack_ledger(path: Path) -> None:
    """Write the packed form of a ledger; the same lines give the same bytes."""
    with replacing_file(packed(path)) as temporary:
        temporary.write_bytes(gzip.compress(_content(path), mtime=0))


def packed(path: Path) -> Path:
    """Where the packed form of a ledger stands."""
    return path.with_name(path.name + ".gz")


def _content(path: Path) -> bytes:
    """Of the ledger, of its packed form, or nothing."""
    if path.exists():
        return path.read_bytes()
    try:
        return gzip.decompress(packed(path).read_bytes()) if packed(path).exists() else b""
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{packed(path)} is damaged ({error}); restore it, or remove it and run again") from error
