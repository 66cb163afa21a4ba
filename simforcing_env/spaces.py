"""Gymnasium spaces of a contract, and observations in them.

Plain keys: one camera is "image", several are "image_<camera>" (flat, as every library takes them), and "proprio".
LeRobot's keys: "observation.images.<camera>" and "observation.state". Inside the model several cameras are one picture,
side by side, so they must share their height.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from world_model.contract import Contract
from world_model.errors import ContractError, InputError

KeyStyle = Literal["plain", "lerobot"]
KEY_STYLES: tuple[str, ...] = get_args(KeyStyle)
PROPRIO_KEYS = {"plain": "proprio", "lerobot": "observation.state"}


def image_keys(contract: Contract, style: KeyStyle = "plain", single: str = "image") -> list[str]:
    """Key of each camera; ``single`` is the plain key where there is only one."""
    if style == "lerobot":
        return [f"observation.images.{camera.name}" for camera in contract.cameras]
    if len(contract.cameras) == 1:
        return [single]
    return [f"{single}_{camera.name}" for camera in contract.cameras]


def frame_shape(contract: Contract) -> tuple[int, int, int]:
    """``(H, W, 3)`` of the picture that holds all cameras.

    Raises:
        ContractError: no camera, or cameras of different heights.
    """
    heights = {camera.height for camera in contract.cameras}
    if len(heights) != 1:
        raise ContractError(
            f"contract {contract.name!r} has cameras of heights {sorted(heights)}; an environment needs one height"
        )
    return heights.pop(), sum(camera.width for camera in contract.cameras), 3


def observation_space(contract: Contract, style: KeyStyle = "plain") -> spaces.Dict:
    """``Dict(image uint8 (H, W, 3), proprio float32 (P,))``."""
    low, high = contract.proprio_bounds()
    frame_shape(contract)
    images: dict[str, spaces.Space[Any]] = {
        key: spaces.Box(0, 255, (camera.height, camera.width, 3), np.uint8)
        for key, camera in zip(image_keys(contract, style), contract.cameras, strict=True)
    }
    return spaces.Dict(images | {PROPRIO_KEYS[style]: spaces.Box(low, high, dtype=np.float32)})


def action_space(contract: Contract, chunk: int | None) -> spaces.Box:
    """Box of a chunk ``(chunk, A)`` in the contract's units; ``None`` is one frame's actions, ``(A,)`` if that is one.

    Raises:
        InputError: a chunk that does not make whole frames.
    """
    per_frame = contract.actions_per_frame
    if chunk is not None and (chunk < 1 or chunk % per_frame):
        raise InputError(
            f"chunk is {chunk} actions but a frame of {contract.name!r} takes {per_frame}; "
            "use a positive multiple of it"
        )
    low, high = contract.action_bounds()
    if chunk is None and per_frame == 1:
        return spaces.Box(low, high, dtype=np.float32)
    shape = (chunk or per_frame, contract.action_dim)
    return spaces.Box(np.broadcast_to(low, shape), np.broadcast_to(high, shape), dtype=np.float32)


def split_cameras(contract: Contract, frames: NDArray[np.uint8], keys: Sequence[str]) -> dict[str, NDArray[np.uint8]]:
    """Pictures ``(..., H, W, 3)`` of each camera by its key; new arrays."""
    edges = np.cumsum([camera.width for camera in contract.cameras])[:-1]
    views = np.split(frames, edges, axis=-2)
    return {key: np.ascontiguousarray(view).copy() for key, view in zip(keys, views, strict=True)}


def join_cameras(contract: Contract, images: Any) -> NDArray[np.uint8]:
    """A user's pictures as ``(..., H, W, 3)``: an array for one camera, a mapping from camera names for several.

    Raises:
        InputError: a missing camera, a wrong type or a wrong shape.
    """
    if isinstance(images, Mapping):
        missing = [camera.name for camera in contract.cameras if camera.name not in images]
        if missing:
            raise InputError(f"images lack the cameras {missing} of {contract.name!r}; give one picture for each")
        parts = [np.asarray(images[camera.name]) for camera in contract.cameras]
    elif len(contract.cameras) == 1:
        parts = [np.asarray(images)]
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
    return np.concatenate(parts, axis=-2)
