"""Gymnasium spaces of a contract, and observations in them.

Plain keys: one camera is "image", several are "image_<camera>" (flat, as every library takes them), and "proprio".
LeRobot's keys: "observation.images.<camera>" and "observation.state". Inside the model several cameras are one picture
(`world_model.canvas`).
"""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
from gymnasium import spaces

from world_model.canvas import canvas_shape
from world_model.contract import Contract
from world_model.errors import InputError

KeyStyle = Literal["plain", "lerobot"]
KEY_STYLES: tuple[KeyStyle, ...] = get_args(KeyStyle)
PROPRIO_KEYS = {"plain": "proprio", "lerobot": "observation.state"}


def image_keys(contract: Contract, style: KeyStyle = "plain", single: str = "image") -> list[str]:
    """Key of each camera; ``single`` is the plain key where there is only one."""
    if style == "lerobot":
        return [f"observation.images.{camera.name}" for camera in contract.cameras]
    if len(contract.cameras) == 1:
        return [single]
    return [f"{single}_{camera.name}" for camera in contract.cameras]


def observation_space(contract: Contract, style: KeyStyle = "plain") -> spaces.Dict:
    """``Dict(image uint8 (H, W, 3), proprio float32 (P,))``."""
    low, high = contract.proprio_bounds()
    canvas_shape(contract)
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
