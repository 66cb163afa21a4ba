"""Which layouts can be written. LeRobot v3.0 with our contract has its own way (`teachers.conversion`)."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import MappingProxyType

from world_model.data.writers.base import Origin, Writer
from world_model.errors import InputError

WRITERS = MappingProxyType(
    {
        "lerobot-v2": "world_model.data.writers.lerobot_v2:LeRobotV2Writer",
        "irasim": "world_model.data.writers.irasim:IrasimWriter",
        "mp4-npz": "world_model.data.writers.mp4_npz:Mp4NpzWriter",
        "rlds": "world_model.data.writers.rlds:RldsWriter",
    }
)
"""Name of a layout to module and class."""


def make_writer(layout: str, folder: Path, origin: Origin) -> Writer:
    """A writer into an empty folder.

    Raises:
        InputError: there is none of that name, or its layout has no place for such episodes.
        MissingExtraError: a package that it needs is not installed.
    """
    if layout not in WRITERS:
        raise InputError(f"layout {layout!r} cannot be written; those that can are lerobot, {', '.join(WRITERS)}")
    module, _, name = WRITERS[layout].partition(":")
    writer: Writer = getattr(importlib.import_module(module), name)(folder, origin)
    return writer
