"""The contract: what the numbers of a world mean.

It travels with every data set, checkpoint and environment. Two that differ refuse to work
together, and the error names the field.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from world_model.errors import ContractError, InputError
from world_model.rules import TEXT, Choice, Number, Rule, Whole, array_of, follow_all, or_none

Orientation = Literal["upright", "flipped"]
ActionKind = Literal["absolute", "relative"]
GripperPolarity = Literal["none", "plus_closes", "plus_opens"]
NormalizerKind = Literal["bounds", "quantiles"]
RULES: Mapping[str, Rule] = {
    "name": TEXT,
    "control_hz": Number(0.001, 1e6),
    "actions_per_frame": Whole(1, 10_000),
    "gripper": Choice(get_args(GripperPolarity)),
    "look": or_none(TEXT),
    "version": Whole(1, 1),
}
PIXELS = Whole(1, 8192)
CAMERA: Mapping[str, Rule] = {
    "name": TEXT,
    "height": PIXELS,
    "width": PIXELS,
    "orientation": Choice(get_args(Orientation)),
}
DIMENSION: Mapping[str, Rule] = {"name": TEXT, "kind": Choice(get_args(ActionKind))}


@dataclass(frozen=True)
class Camera:
    """One camera; images are ``(height, width, 3)`` uint8 RGB."""

    name: str
    height: int
    width: int
    orientation: Orientation = "upright"


@dataclass(frozen=True)
class Dimension:
    """One action or proprio number: ``low``/``high`` are bounds in ``unit``."""

    name: str
    unit: str
    low: float
    high: float
    kind: ActionKind = "absolute"


@dataclass(frozen=True)
class Normalizer:
    """Affine map of actions and proprio to [-1, 1] from ``low``/``high`` per dimension.

    ``kind`` says where the numbers come from: the declared bounds or quantiles of data.
    """

    kind: NormalizerKind
    action_low: tuple[float, ...]
    action_high: tuple[float, ...]
    proprio_low: tuple[float, ...]
    proprio_high: tuple[float, ...]


@dataclass(frozen=True)
class Contract:
    """What cameras, actions, proprio and rates of one world mean (see the module text)."""

    name: str
    cameras: tuple[Camera, ...]
    control_hz: float
    actions_per_frame: int
    actions: tuple[Dimension, ...]
    proprio: tuple[Dimension, ...]
    normalizer: Normalizer
    gripper: GripperPolarity = "none"
    version: int = 1
    look: str | None = None
    """Where a simulator draws the same world in more than one way: which, if not its usual one."""

    def __post_init__(self) -> None:
        follow_all(RULES, vars(self))
        for camera in self.cameras:
            follow_all(CAMERA, vars(camera))
        if len({camera.name for camera in self.cameras}) != len(self.cameras) or not self.cameras or not self.actions:
            raise ContractError(
                f"contract {self.name!r} has cameras {[c.name for c in self.cameras]} and {len(self.actions)} action "
                "dimensions; give cameras of different names and at least one of both"
            )
        follow_all({"kind": Choice(get_args(NormalizerKind))}, vars(self.normalizer))
        for dim in (*self.actions, *self.proprio):
            follow_all(DIMENSION, vars(dim))
            if not -np.inf < dim.low < dim.high < np.inf:
                raise ContractError(
                    f"contract {self.name!r} has {dim.name!r} from {dim.low} to {dim.high}; "
                    "the bounds must be finite and the low one below the high one"
                )
        for group in ("action", "proprio"):
            dims = self.actions if group == "action" else self.proprio
            low = np.array(getattr(self.normalizer, f"{group}_low"))
            high = np.array(getattr(self.normalizer, f"{group}_high"))
            if not (len(low) == len(high) == len(dims)):
                raise ContractError(
                    f"contract {self.name!r} has {len(dims)} {group} dimensions but normaliser "
                    f"bounds for {len(low)} and {len(high)}; give one low and one high for each"
                )
            if not np.all(np.isfinite(low) & np.isfinite(high) & (low < high)):
                raise ContractError(
                    f"contract {self.name!r} has a {group} normaliser with low {low.tolist()} and "
                    f"high {high.tolist()}; every low must be finite and below its high"
                )

    @property
    def frame_hz(self) -> float:
        """Generated frames per second."""
        return self.control_hz / self.actions_per_frame

    @property
    def action_dim(self) -> int:
        return len(self.actions)

    @property
    def proprio_dim(self) -> int:
        return len(self.proprio)

    @property
    def hash(self) -> str:
        """First 16 hex digits of the SHA-256 of the canonical JSON form."""
        return hashlib.sha256(self.to_json(indent=None).encode()).hexdigest()[:16]

    def action_bounds(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Lowest and highest action, each ``(A,)``, in the units of the contract."""
        return _bounds(self.actions)

    def proprio_bounds(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Lowest and highest proprio, each ``(P,)``, in the units of the contract."""
        return _bounds(self.proprio)

    def normalize_actions(self, actions: NDArray[Any]) -> NDArray[np.float32]:
        """``(..., A)`` in units to ``(..., A)`` float32 in [-1, 1]."""
        return _normalize(actions, self.normalizer.action_low, self.normalizer.action_high)

    def normalize_proprio(self, proprio: NDArray[Any]) -> NDArray[np.float32]:
        """``(..., P)`` in units to ``(..., P)`` float32 in [-1, 1]."""
        return _normalize(proprio, self.normalizer.proprio_low, self.normalizer.proprio_high)

    def denormalize_actions(self, actions: NDArray[Any]) -> NDArray[np.float32]:
        """``(..., A)`` in [-1, 1] to ``(..., A)`` float32 in units."""
        return _denormalize(actions, self.normalizer.action_low, self.normalizer.action_high)

    def denormalize_proprio(self, proprio: NDArray[Any]) -> NDArray[np.float32]:
        """``(..., P)`` in [-1, 1] to ``(..., P)`` float32 in units."""
        return _denormalize(proprio, self.normalizer.proprio_low, self.normalizer.proprio_high)

    def check_actions(self, actions: NDArray[Any], ndim: int) -> NDArray[np.float32]:
        """Return ``(..., A)`` actions as float32.

        Raises:
            InputError: not numbers, wrong number of axes or dimensions, NaN or infinity, or out of bounds.
        """
        array = array_of("actions", actions)
        if array.ndim != ndim or array.shape[-1] != self.action_dim:
            wanted = "(" + ", ".join(["..."] * (ndim - 1)) + f"{', ' if ndim > 1 else ''}{self.action_dim})"
            raise InputError(
                f"actions have shape {array.shape} but {self.name} takes {wanted} with the last axis "
                f"{[d.name for d in self.actions]}; reshape the array"
            )
        if not np.isfinite(array).all():
            raise InputError(
                f"actions hold {int((~np.isfinite(array)).sum())} NaN or infinite values; send finite numbers"
            )
        low, high = self.action_bounds()
        outside = (array < low - 1e-4 * (high - low)) | (array > high + 1e-4 * (high - low))
        if outside.any():
            index = tuple(int(i) for i in np.argwhere(outside)[0])
            dim = self.actions[index[-1]]
            raise InputError(
                f"action {dim.name!r} is {array[index]:g} {dim.unit} at index {index}, outside "
                f"[{dim.low:g}, {dim.high:g}]; clip it or rescale your policy's output"
            )
        return np.clip(array, low, high).astype(np.float32)

    def to_json(self, indent: int | None = 2) -> str:
        fields = dataclasses.asdict(self)
        if self.look is None:
            del fields["look"]  # as in contracts written before there were looks: their hashes stand
        return json.dumps(fields, indent=indent, sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Contract:
        """Read the form of `to_json`.

        Raises:
            ContractError: not JSON, a missing or unknown field, or a bad value.
        """
        try:
            raw = json.loads(text)
            return cls(
                **{
                    **raw,
                    "cameras": tuple(Camera(**c) for c in raw["cameras"]),
                    "actions": tuple(Dimension(**d) for d in raw["actions"]),
                    "proprio": tuple(Dimension(**d) for d in raw["proprio"]),
                    "normalizer": Normalizer(**{k: _tuple(v) for k, v in raw["normalizer"].items()}),
                }
            )
        except ContractError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ContractError(f"contract JSON is not readable ({error}); write it with Contract.to_json") from error

    def require_same(self, other: Contract, here: str, there: str) -> None:
        """Raise `ContractError` that names the first differing field of two contracts."""
        difference = first_difference(dataclasses.asdict(self), dataclasses.asdict(other))
        if difference is not None:
            field, mine, theirs = difference
            raise ContractError(
                f"{here} and {there} have different contracts: field {field!r} is {mine!r} here and "
                f"{theirs!r} there; use a data set, checkpoint and environment made for one contract"
            )


def first_difference(a: Any, b: Any, path: str = "") -> tuple[str, Any, Any] | None:
    """First differing leaf of two nested plain values as (dotted path, a, b), or None."""
    if isinstance(a, dict) and isinstance(b, dict):
        for key in [*a, *(k for k in b if k not in a)]:
            found = first_difference(a.get(key), b.get(key), f"{path}.{key}" if path else str(key))
            if found:
                return found
        return None
    if isinstance(a, (tuple, list)) and isinstance(b, (tuple, list)) and len(a) == len(b):
        for index, (x, y) in enumerate(zip(a, b, strict=True)):
            found = first_difference(x, y, f"{path}[{index}]")
            if found:
                return found
        return None
    return None if a == b else (path, a, b)


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _bounds(dims: tuple[Dimension, ...]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    return np.array([d.low for d in dims], np.float32), np.array([d.high for d in dims], np.float32)


def _normalize(values: NDArray[Any], low: tuple[float, ...], high: tuple[float, ...]) -> NDArray[np.float32]:
    low_, high_ = np.asarray(low), np.asarray(high)
    return ((np.asarray(values, np.float64) - low_) / (high_ - low_) * 2 - 1).astype(np.float32)


def _denormalize(values: NDArray[Any], low: tuple[float, ...], high: tuple[float, ...]) -> NDArray[np.float32]:
    low_, high_ = np.asarray(low), np.asarray(high)
    return ((np.asarray(values, np.float64) + 1) / 2 * (high_ - low_) + low_).astype(np.float32)
