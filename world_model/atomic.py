"""Files and folders that appear whole or not at all, whenever the writer is killed."""

from __future__ import annotations

import ctypes
import glob
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_AT_FDCWD, _RENAME_EXCHANGE = -100, 2


@contextmanager
def replacing_folder(target: Path) -> Iterator[Path]:
    """Yield an empty folder to fill; at the end it takes the place of ``target``, whatever stands there.

    A kill at any moment leaves the old folder or the new one (`recover` finds it in the one case in which it
    lies under another name). An error inside leaves ``target`` as it was. What a killed writer left beside
    ``target`` is removed by the next writer.
    """
    target = Path(target).absolute()
    target.parent.mkdir(parents=True, exist_ok=True)
    recover(target)
    _remove_leftovers(target)
    temporary = _beside(target, "new")
    temporary.mkdir()
    try:
        yield temporary
        for path in (p for p in temporary.rglob("*") if p.is_file()):
            _sync(path)  # on the disk before the swap makes it visible
        _swap(temporary, target)
        _sync(target.parent)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


@contextmanager
def replacing_file(target: Path) -> Iterator[Path]:
    """Yield the name of a file to write; at the end it takes the place of ``target``, on the disk by then.

    As with `replacing_folder`, a kill or an error leaves the old file, and the next writer removes what was left.
    """
    target = Path(target).absolute()
    target.parent.mkdir(parents=True, exist_ok=True)
    _remove_leftovers(target)
    temporary = _beside(target, "new")
    try:
        yield temporary
        _sync(temporary)
        temporary.replace(target)
        _sync(target.parent)
    finally:
        temporary.unlink(missing_ok=True)


def replace_text(target: Path, text: str) -> None:
    """Write a text file by way of `replacing_file`."""
    with replacing_file(target) as temporary:
        temporary.write_text(text, encoding="utf-8")


def check_writable(folder: Path) -> None:
    """Make ``folder`` where it is missing and try to write there; an OSError says why that is not possible."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=folder):
        pass


def recover(target: Path) -> Path:
    """Put back the old folder of a writer that was killed between its two renames (see `_swap`)."""
    target = Path(target).absolute()
    if not target.exists() and target.parent.is_dir():
        old = sorted(target.parent.glob(f".{glob.escape(target.name)}.old-*"), key=lambda p: p.stat().st_mtime)
        if old:
            old[-1].rename(target)
    return target


def _swap(new: Path, target: Path) -> None:
    if not target.exists():
        new.rename(target)
    elif not _exchange(new, target):  # after an exchange the old folder has the temporary name
        old = _beside(target, "old")
        target.rename(old)
        new.rename(target)
        shutil.rmtree(old, ignore_errors=True)


def _exchange(a: Path, b: Path) -> bool:
    """Exchange two paths in one step where the system can (Linux); False where it cannot."""
    rename = getattr(ctypes.CDLL(None), "renameat2", None)
    if rename is None:
        return False
    return bool(rename(_AT_FDCWD, os.fsencode(a), _AT_FDCWD, os.fsencode(b), _RENAME_EXCHANGE) == 0)


def _beside(target: Path, role: str) -> Path:
    return target.parent / f".{target.name}.{role}-{os.getpid()}-{secrets.token_hex(4)}"


def _remove_leftovers(target: Path) -> None:
    for role in ("new", "old"):
        for path in target.parent.glob(f".{glob.escape(target.name)}.{role}-*-*"):
            process = path.name.rsplit("-", 2)[-2]
            if process.isdigit() and not _alive(int(process)):
                if path.is_dir():
                    shutil.rmtree(path, ignore_errors=True)
                else:
                    path.unlink(missing_ok=True)


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
