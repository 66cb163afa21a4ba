"""What may stand in the scenes of a suite, so that all its episodes are recorded in the same columns.

Making a scene costs seconds and a suite has up to ninety, so the answer is kept in ``layouts.json``; a test makes
scenes and compares.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files

from teachers.libero.flat_state import flat_size
from teachers.libero.suites import tasks
from teachers.libero.world import LiberoWorld

FILE = "layouts.json"


@dataclass(frozen=True)
class Layout:
    """Union over the tasks of a suite, names in alphabetical order."""

    objects: tuple[str, ...]
    """What can be carried."""
    fixtures: tuple[str, ...]
    """Furniture, which stands still in an episode."""
    joints: tuple[str, ...]
    """Drawers, doors and knobs."""
    simulation_width: int
    """Numbers of the longest flat state, see `teachers.libero.flat_state`."""


@functools.cache
def layout_of(suite: str) -> Layout:
    """The kept layout of a suite."""
    kept = json.loads(files("teachers.libero").joinpath(FILE).read_text("utf-8"))[suite]
    objects, fixtures, joints = (tuple(kept[group]) for group in ("objects", "fixtures", "joints"))
    return Layout(objects, fixtures, joints, kept["simulation_width"])


def measure_layout(suite: str, chosen: Iterable[int] | None = None) -> Layout:
    """The layout of all tasks of a suite or of some, from the scenes themselves."""
    objects: set[str] = set()
    fixtures: set[str] = set()
    joints: set[str] = set()
    width = 0
    for index in range(len(tasks(suite))) if chosen is None else chosen:
        world = LiberoWorld.open(suite, index)
        standing = set(world.env.fixtures_dict) & set(world.object_poses())
        fixtures |= standing
        objects |= set(world.object_poses()) - standing
        joints |= set(world.joint_positions())
        width = max(width, flat_size(world.snapshot()))
        world.env.close()
    return Layout(tuple(sorted(objects)), tuple(sorted(fixtures)), tuple(sorted(joints)), width)
