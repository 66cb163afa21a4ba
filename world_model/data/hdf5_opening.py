"""Opening HDF5 files of others: the library never comes back from some damaged ones, and dies of others.

So a child process goes over a file's structure first, under a limit of processor time: every group, every attribute,
the lists of chunks and strings of any length, but no further contents. It costs milliseconds, once for each file.
"""

from __future__ import annotations

import os
import signal
import time
from functools import lru_cache
from pathlib import Path
from typing import Any, NoReturn

from world_model.data.lerobot.video import require_real_file
from world_model.errors import DataError
from world_model.extras import require

SECONDS = 5
"""Whole seconds of processor time that the structure may take."""
PATIENCE = 60
"""Times as long the child may wait for a busy machine or disk."""


def open_hdf5(path: Path, seconds: int = SECONDS) -> Any:
    """An ``h5py.File`` to read.

    Raises:
        MissingExtraError: h5py is not installed.
        DataError: there is no such file, or the library hangs at it or dies of it.
        OSError: it is no HDF5.
    """
    h5py = require("h5py", "hdf5")
    require_real_file(path)
    told = path.stat()
    if reason := _damage(path, told.st_size, told.st_mtime_ns, seconds):
        raise DataError(f"{path} cannot be read: {reason}; it is damaged: copy it again or leave it out")
    return h5py.File(path, "r")


@lru_cache(maxsize=4096)
def _damage(path: Path, size: int, changed: int, seconds: int) -> str:
    """Why a file, which is told from others of its name by size and time, is better not opened; "" if it may be."""
    if not hasattr(os, "fork"):
        return ""
    h5py = require("h5py", "hdf5")
    with h5py._objects.phil:  # the library's lock: no other thread holds it while the process is copied
        child = os.fork()
        if not child:
            _walk_and_exit(path, seconds)
    status = _wait(child, PATIENCE * seconds)
    if status in (signal.SIGXCPU, signal.SIGKILL):
        return f"its structure leads the HDF5 library in circles (no answer in {seconds} s)"
    return f"the HDF5 library dies of it (signal {status})" if status else ""


def _wait(child: int, seconds: float) -> int:
    """The exit status of a child, which is killed after so many seconds, or the number of the signal that ended it."""
    deadline, pause = time.monotonic() + seconds, 0.0005
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
        time.sleep(pause)
        pause = min(0.05, 2 * pause)


def _walk_and_exit(path: Path, seconds: int) -> NoReturn:
    """What the child does; errors are left to whoever reads the file in earnest."""
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.signal(signal.SIGXCPU, signal.SIG_DFL)
        _walk(path)
    finally:
        os._exit(0)


def _walk(path: Path) -> None:
    h5py = require("h5py", "hdf5")
    seen, waiting = set(), ["/"]
    with h5py.File(path, "r") as file:
        while waiting:
            try:
                place = waiting.pop()
                thing = file[place]
                key = h5py.h5o.get_info(thing.id).addr
                if key in seen:
                    continue
                seen.add(key)
                _touch(thing)
                if isinstance(thing, h5py.Group):
                    waiting += [f"{place.rstrip('/')}/{name}" for name in thing]
            except Exception:  # the rest may still hang
                continue


def _touch(thing: Any) -> None:
    for name in thing.attrs:
        try:
            thing.attrs[name]
        except Exception:
            continue
    if hasattr(thing, "chunks"):
        if thing.dtype.hasobject:
            thing[...]
        elif thing.chunks:
            thing.id.get_num_chunks()
