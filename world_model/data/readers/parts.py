"""Pieces that several readers' contracts are made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from world_model.contract import ActionKind, Camera, Contract, Dimension, GripperPolarity, Normalizer

AXES = ("x", "y", "z")
TURNS = ("roll", "pitch", "yaw")
HALF_TURN = 3.15  # rad: Euler angles as float32 may lie a little beyond pi
NOTHING = (Dimension("none", "", -1.0, 1.0),)
"""Actions or proprio of recordings that have none: one number that is always 0."""


def dimensions(names: Sequence[str], unit: str, size: float, kind: ActionKind = "absolute") -> tuple[Dimension, ...]:
    """Dimensions of one unit, from ``-size`` to ``size``."""
    return tuple(Dimension(name, unit, -size, size, kind) for name in names)


def bounded(
    name: str,
    cameras: Sequence[Camera],
    hz: float,
    actions: Sequence[Dimension],
    proprio: Sequence[Dimension] = (),
    gripper: GripperPolarity = "none",
    scale: Sequence[float] | None = None,
) -> Contract:
    """A contract whose normaliser is that of the bounds, or divides actions by ``scale``.

    Without proprio there is one number that is always 0, for data sets and models need one.
    """
    proprio = proprio or NOTHING
    low, high = [d.low for d in actions], [d.high for d in actions]
    if scale is not None:
        low, high = [-s for s in scale], list(scale)
    return Contract(
        name=name,
        cameras=tuple(cameras),
        control_hz=hz,
        actions_per_frame=1,
        actions=tuple(actions),
        proprio=tuple(proprio),
        normalizer=Normalizer(
            "bounds", tuple(low), tuple(high), tuple(d.low for d in proprio), tuple(d.high for d in proprio)
        ),
        gripper=gripper,
    )


def rows(values: Any) -> NDArray[np.float32]:
    """Numbers ``(N, D)`` as float32; raises ValueError for what has another form."""
    array = np.asarray(values)
    if array.dtype.kind not in "iufb" or array.ndim != 2:
        raise ValueError(f"{array.dtype} {array.shape} where a table of numbers is due")
    return array.astype(np.float32)


def single(actions: NDArray[np.float32]) -> NDArray[np.float32]:
    """Actions ``(N, A)`` as groups of one ``(N, 1, A)``."""
    return actions[:, None]


def no_actions(length: int) -> NDArray[np.float32]:
    """Actions in the place of those that are not recorded."""
    return np.zeros((length - 1, 1, len(NOTHING)), np.float32)
