"""What the numbers of the released models mean, where their data are not at hand."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from world_model.contract import Camera, Contract, GripperPolarity
from world_model.data.readers.irasim import OPENS_AT_1, PUBLISHED_HZ, VARIANTS, Variant
from world_model.data.readers.parts import bounded
from world_model.errors import InputError

_ARM = next(variant for variant in VARIANTS if "continuous_gripper_state" in variant.fields)
_PLANE = next(variant for variant in VARIANTS if variant.fields == ("actions",))
WORLDS: Mapping[str, tuple[Variant, GripperPolarity, tuple[int, int]]] = MappingProxyType(
    {
        "rt1": (_ARM, "plus_closes", (256, 320)),
        "bridge": (_ARM, OPENS_AT_1, (256, 320)),
        "languagetable": (_PLANE, "none", (288, 512)),
    }
)
"""Annotation, what a large gripper number does, and height and width of the pictures."""


def released_contract(world: str, size: tuple[int, int] | None = None) -> Contract:
    """The contract of a data set of IRASim's; ``size`` of other pictures than published.

    Raises:
        InputError: there is no such data set.
    """
    if world not in WORLDS:
        raise InputError(f"world is {world!r} but must be one of {', '.join(WORLDS)}")
    variant, gripper, published = WORLDS[world]
    cameras = [Camera("camera_0", *(size or published))]
    return bounded(world, cameras, PUBLISHED_HZ, variant.actions, variant.proprio, gripper, variant.scale)


def world_of(arguments: Mapping[str, Any]) -> str | None:
    """The data set that a checkpoint's arguments name, if it is a published one."""
    name = arguments.get("dataset")
    return name if name in WORLDS else None
