"""All cameras of a moment in one picture: side by side along the width, in the contract's order.

Episodes, codecs, models and rollouts hold canvases ``(..., H, W, 3)``, W being the sum of the cameras' widths. Only at
the edges (data sets on disk, observations, what a user hands in) a canvas is split into named pictures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from world_model.contract import Contract
from world_model.errors import ContractError, InputError
from world_model.rules import array_of


def canvas_shape(contract: Contract) -> tuple[int, int, int]:
    """``(H, W, 3)`` of the contract's canvas.

    Raises:
        ContractError: no camera, or cameras of different heights.
    """
    heights = {camera.height for camera in contract.cameras}
    if len(heights) != 1:
        raise ContractError(
            f"contract {contract.name!r} has cameras of heights {sorted(heights)}; "
            "they stand side by side in one picture and need one height"
        )
    return heights.pop(), sum(camera.width for camera in contract.cameras), 3


def split(
    contract: Contract, canvas: NDArray[np.uint8], keys: Sequence[str] | None = None
) -> dict[str, NDArray[np.uint8]]:
    """Pictures ``(..., H, W, 3)`` of each camera by its name, or by ``keys`` in the contract's order; new arrays."""
    edges = np.cumsum([camera.width for camera in contract.cameras])[:-1]
    views = np.split(canvas, edges, axis=-2)
    names = [camera.name for camera in contract.cameras] if keys is None else keys
    return {name: np.ascontiguousarray(view).copy() for name, view in zip(names, views, strict=True)}


def join(contract: Contract, images: Any) -> NDArray[np.uint8]:
    """Pictures as a canvas ``(..., H, W, 3)``: an array for one camera, a mapping from camera names for several.

    Raises:
        ContractError: no camera, or cameras of different heights.
        InputError: a missing camera, a wrong type or a wrong shape.
    """
    canvas_shape(contract)
    if isinstance(images, Mapping):
        missing = [camera.name for camera in contract.cameras if camera.name not in images]
        if missing:
            raise InputError(f"images lack the cameras {missing} of {contract.name!r}; give one picture for each")
        parts = [array_of(f"image of {c.name!r}", images[c.name]) for c in contract.cameras]
    elif len(contract.cameras) == 1:
        parts = [array_of("images", images)]
    else:
        names = [camera.name for camera in contract.cameras]
        raise InputError(f"{contract.name!r} has the cameras {names}; give a mapping from name to picture")
    for camera, picture in zip(contract.cameras, parts, strict=True):
        wanted = (camera.height, camera.width, 3)
        if picture.dtype != np.uint8 or picture.shape[-3:] != wanted:
            raise InputError(
                f"image of camera {camera.name!r} is {picture.dtype} {picture.shape} but must be uint8 RGB {wanted}, "
                f"{camera.orientation}; convert or resize it"
            )
    if len({picture.shape[:-3] for picture in parts}) > 1:
        counts = {camera.name: picture.shape for camera, picture in zip(contract.cameras, parts, strict=True)}
        raise InputError(f"images of the cameras differ in number ({counts}); give as many of each")
    return np.concatenate(parts, axis=-2)
