"""What a user may ask of ``reset``: seeds, starts, pictures, and which environments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simforcing_env.backend import Start
from simforcing_env.spaces import KEY_STYLES, image_keys
from world_model.canvas import join
from world_model.contract import Contract
from world_model.errors import InputError
from world_model.rules import TEXT, Several, array_of, refuse_unknown, shown

OPTIONS = ("start", "image", "proprio", "task", "reset_mask")


@dataclass(frozen=True)
class ResetRequest:
    """A checked request; ``starts`` has an entry for each of ``rows``, None where a start is to be drawn."""

    rows: NDArray[np.intp]
    starts: list[Start | None]


def parse_options(options: Mapping[str, Any] | None, contract: Contract, num_envs: int) -> ResetRequest:
    """Check ``reset``'s options.

    Raises:
        InputError: an unknown option, or one of a wrong type, shape or number.
    """
    options = {} if options is None else options
    if not isinstance(options, Mapping):
        raise InputError(f"reset options are {shown(options)} but must be a dict, or None")
    refuse_unknown(options, OPTIONS, "reset option")
    if "start" in options and "image" in options:
        raise InputError("reset got both options 'start' and 'image'; give one of them")
    if ("image" in options) != ("proprio" in options):
        raise InputError("reset options 'image' and 'proprio' belong together; give both or neither")
    if "task" in options and "image" not in options:
        raise InputError("reset option 'task' goes with an 'image'; a start's name tells its own task")
    rows = _rows(options.get("reset_mask"), num_envs)
    starts: list[Start | None] = [None] * num_envs
    if "start" in options:
        starts = list(_named(options["start"], num_envs))
    elif "image" in options:
        starts = list(_pictured(options["image"], options["proprio"], _task(options), contract, num_envs))
    return ResetRequest(rows, [starts[row] for row in rows])


def parse_seeds(seed: int | Sequence[int | None] | None, num_envs: int) -> list[int | None]:
    """One seed for each environment: ``seed + i`` of a number, the items of a sequence.

    Raises:
        InputError: not whole numbers in [0, 2^63), or not one for each environment.
    """
    if seed is None:
        return [None] * num_envs
    if isinstance(seed, (list, tuple, np.ndarray)) and np.ndim(seed) == 1:
        seeds: list[int | None] = [None if item is None else _whole(item) for item in seed]
    else:
        first = _whole(seed)
        seeds = [first + index for index in range(num_envs)]
    if len(seeds) != num_envs:
        raise InputError(f"{len(seeds)} seeds came for {num_envs} environments; give one for each")
    for item in seeds:
        if item is not None and not 0 <= item < 2**63:
            raise InputError(f"seed {item} is outside [0, 2^63); use a number in it")
    return seeds


def _whole(item: Any) -> int:
    if isinstance(item, (int, np.integer)) and not isinstance(item, bool):
        return int(item)
    raise InputError(f"seed {shown(item)} is not a whole number; use an int")


def _rows(mask: Any, num_envs: int) -> NDArray[np.intp]:
    if mask is None:
        return np.arange(num_envs)
    if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_ or mask.shape != (num_envs,) or not mask.any():
        raise InputError(
            f"reset option 'reset_mask' is {shown(mask)} but must be a bool array of shape ({num_envs},) "
            "with a True in it"
        )
    return np.flatnonzero(mask)


def _named(start: Any, num_envs: int) -> list[Start]:
    try:
        names = Several(TEXT, num_envs)([start] * num_envs if isinstance(start, str) else start)
    except ValueError as error:
        wanted = f"one name or a list of {num_envs} names"
        raise InputError(f"reset option 'start' is {shown(start)} but must be {wanted}") from error
    return [Start(name) for name in names]


def _task(options: Mapping[str, Any]) -> int:
    task = options.get("task", 0)
    if not isinstance(task, (int, np.integer)) or isinstance(task, bool) or task < 0:
        raise InputError(f"reset option 'task' is {shown(task)} but must be the number of a task, from 0")
    return int(task)


def _by_camera(image: Any, contract: Contract) -> Any:
    """Pictures by the names of their cameras, which may come under an observation's own keys."""
    if not isinstance(image, Mapping):
        return image
    cameras = [camera.name for camera in contract.cameras]
    known = {key: name for style in KEY_STYLES for key, name in zip(image_keys(contract, style), cameras, strict=True)}
    return {known.get(key, key): picture for key, picture in image.items()}


def _pictured(image: Any, proprio: Any, task: int, contract: Contract, num_envs: int) -> list[Start]:
    frames = join(contract, _by_camera(image, contract))
    values = array_of("reset option 'proprio'", proprio)
    if frames.ndim == 3:
        frames = np.broadcast_to(frames, (num_envs, *frames.shape))
    if values.ndim == 1:
        values = np.broadcast_to(values, (num_envs, *values.shape))
    if frames.ndim != 4 or len(frames) != num_envs:
        raise InputError(
            f"reset option 'image' has shape {frames.shape} but must hold one picture, "
            f"or one for each of {num_envs} environments"
        )
    low, high = contract.proprio_bounds()
    if values.shape != (num_envs, contract.proprio_dim):
        raise InputError(
            f"reset option 'proprio' has shape {values.shape} but must be {(num_envs, contract.proprio_dim)}, "
            f"{[dim.name for dim in contract.proprio]}"
        )
    if not np.isfinite(values).all() or (values < low).any() or (values > high).any():
        raise InputError(
            f"reset option 'proprio' is {shown(values.tolist())} but must lie in "
            f"{low.tolist()} to {high.tolist()}; check its units"
        )
    return [Start("image", frame, row, task) for frame, row in zip(frames, values.astype(np.float32), strict=True)]
