"""Which layouts are known, and what lies at a path."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from world_model.data.readers.base import AS_STORED, Reader, View
from world_model.data.readers.damage import refuse
from world_model.errors import DataError, InputError

READERS = MappingProxyType(
    {
        "lerobot": "world_model.data.readers.lerobot_own:LeRobotReader",
        "lerobot-v3": "world_model.data.readers.lerobot_v3:LeRobotV3Reader",
        "lerobot-v2": "world_model.data.readers.lerobot_v2:LeRobotV2Reader",
        "irasim": "world_model.data.readers.irasim:IrasimReader",
        "rlds": "world_model.data.readers.rlds:RldsReader",
        "mp4-npz": "world_model.data.readers.mp4_npz:Mp4NpzReader",
        "zarr": "world_model.data.readers.pusht_zarr:PushtZarrReader",
        "robonet": "world_model.data.readers.robonet:RoboNetReader",
        "robomimic": "world_model.data.readers.robomimic:RobomimicReader",
        "npz": "world_model.data.readers.npz:NpzReader",
    }
)
"""Name of a layout to module and class, in the order in which they are tried."""
DEEPEST = 4  # folders below the path that are searched
MOST_FOLDERS = 5000


@dataclass(frozen=True)
class Found:
    """A data set: its layout and where it lies."""

    layout: str
    path: Path


def reader_class(layout: str) -> type[Reader]:
    """The reader of a layout.

    Raises:
        InputError: there is none of that name.
    """
    if layout not in READERS:
        raise InputError(f"there is no layout {layout!r}; the layouts are {', '.join(READERS)}")
    module, _, name = READERS[layout].partition(":")
    found: type[Reader] = getattr(importlib.import_module(module), name)
    return found


def layout_of(path: Path) -> str | None:
    """The layout of what lies right at ``path``, or None."""
    return next((name for name in READERS if reader_class(name).matches(path)), None)


def find_sets(path: Path) -> list[Found]:
    """The data set at ``path``, or those in the folders below it.

    Raises:
        DataError: there is none; a file that is of no layout by itself is told from one that is not there.
    """
    if not path.exists():
        raise DataError(f"{path} does not exist; check the path")
    found = list(_search(path, 0, [MOST_FOLDERS]))
    if found:
        return found
    if path.suffix == ".parquet":
        raise _lone_table(path)
    raise DataError(
        f"{path} holds no data set of a layout known here ({', '.join(READERS)}); check the path, or name the layout"
    )


def open_reader(path: Path, layout: str | None = None, view: View = AS_STORED) -> Reader:
    """The reader of the one data set at ``path`` or below it.

    Raises:
        DataError: there is none, there are several, or its files are missing or damaged.
        InputError: no such layout or camera.
        MissingExtraError: a package that the layout needs is not installed.
    """
    if layout is not None:
        return reader_class(layout)(path, view)
    found = find_sets(path)
    if len(found) > 1:
        some = ", ".join(str(f.path) for f in found[:6])
        raise DataError(f"{path} holds {len(found)} data sets ({some}); give the path of one")
    return reader_class(found[0].layout)(found[0].path, view)


def _search(path: Path, depth: int, left: list[int]) -> Iterator[Found]:
    layout = layout_of(path)
    if layout is not None:
        yield Found(layout, path)
        return
    left[0] -= 1
    if depth < DEEPEST and path.is_dir() and left[0] > 0:
        for inner in sorted(p for p in path.iterdir() if p.is_dir() and not p.name.startswith(".")):
            yield from _search(inner, depth + 1, left)


def _lone_table(path: Path) -> DataError:
    import pyarrow.parquet as pq

    from world_model.data.readers.damage import reading

    try:
        with reading(path):
            pq.read_table(path, use_threads=False).validate(full=True)
    except DataError as error:
        return error
    return refuse(path, "", "is a table without the folder meta/ that says what it means", "give the data set's folder")
