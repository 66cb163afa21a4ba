"""Shipped training recipes: codec, model, data windows and optimiser of each checkpoint and of the model study."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from world_model.errors import InputError
from world_model.models.views import ViewConfig
from world_model.training.config import OptimConfig, TrainConfig
from world_model.training.state_encoding import Joint, PlanarBody, SceneEncoding, SpatialBody, StateEncoding
from world_model.training.windows import WindowConfig


@dataclass(frozen=True)
class Recipe:
    """What ``simforcing train --config NAME`` does; see the dataclasses for each part."""

    train: TrainConfig
    codec: dict[str, Any] = field(default_factory=lambda: {"kind": "pca", "patch": 4, "channels": 24})
    sampler: dict[str, Any] = field(default_factory=lambda: {"kind": "euler", "steps": 1, "shift": 1.0})
    history: int = 3
    """Clean frames a rollout keeps."""

    def __post_init__(self) -> None:
        if self.history < 1:
            raise InputError(f"the recipe's history is {self.history} frames but a rollout needs at least 1; raise it")


_BLOCK = PlanarBody(x=0, y=1, angle=2, points=((-60.0, 15.0), (60.0, 15.0), (0.0, 120.0)))
PUSHT_STATE = StateEncoding(bodies=(_BLOCK,), low=0.0, high=512.0)
"""The two ends of the T's bar and the end of its stem, in px."""

_PAIRS = ((0, 0), (1, 1))
_STEP = {"action_dim": 2, "proprio_dim": 2, "history": 3, "relative": _PAIRS}
_FRAME = {"action_dim": 2, "proprio_dim": 2, "relative": _PAIRS}
_GRID = {"latent_channels": 24, "grid": (16, 16)}
_CONV = {"kind": "next_frame", "step": _STEP, **_GRID, "proprio_points": (0, 1)}
_TRANSFORMER = {"kind": "transformer", "condition": _FRAME, **_GRID, "depth": 8, "dim": 192, "heads": 6}
_FORECAST = {
    "state_dim": 6,
    "relative": tuple((axis, 2 * point + axis) for point in range(3) for axis in (0, 1)),
    "rigid": ((0, 3),),
}
_STUDY = {"rollout": 0.0}
_KEY_POINTS = {**_CONV, "kind": "key_points", "forecast": _FORECAST, "noise": {"pure": 0.8}}


def _study(model: dict[str, Any], length: int = 7, batch: int = 16, sequences: int = 0) -> Recipe:
    windows = WindowConfig(length=length, history=3)
    return Recipe(TrainConfig(model=model, state=PUSHT_STATE, windows=windows, batch=batch, sequences=sequences))


LIBERO_LOW, LIBERO_HIGH = (-0.9, -0.8, 0.8), (0.5, 0.8, 1.8)
"""Bounds (m) of places in the table-top suites, those of the hand in their contracts."""
_UPRIGHT = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.06))
_LYING = (*_UPRIGHT, (0.05, 0.0, 0.0))
_GOAL_STATE = SceneEncoding(
    bodies=(
        SpatialBody("akita_black_bowl_1", _UPRIGHT),
        SpatialBody("cream_cheese_1", _LYING),
        SpatialBody("plate_1", _UPRIGHT),
        SpatialBody("wine_bottle_1", _UPRIGHT),
        *(SpatialBody(name) for name in ("flat_stove_1", "wine_rack_1", "wooden_cabinet_1")),
    ),
    joints=(
        Joint("flat_stove_1_button", -0.5, 2.0),
        *(Joint(f"wooden_cabinet_1_{level}_level", -0.2, 0.02) for level in ("bottom", "middle", "top")),
    ),
    low=LIBERO_LOW,
    high=LIBERO_HIGH,
)
# LIBERO's table-top view from the front, and the camera on the hand; measured in the simulator.
_TABLE_VIEW = ViewConfig(
    focal=1 / math.tan(math.radians(45 / 2)),
    position=(0.658613175, 0.0, 1.610350024),
    axes=(0.0, -0.62826645, 0.777998244, 1.0, 0.0, 0.0, 0.0, 0.777998244, 0.62826645),
)
_HAND_VIEW = ViewConfig(
    focal=1 / math.tan(math.radians(75 / 2)),
    position=(0.0, 0.05, -0.097),
    axes=(-1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, -1.0),
    mounted=True,
)


def _libero(state: SceneEncoding) -> Recipe:
    """128 x 128 from both cameras, folded into channels; the state is read through points of the reader's choice."""
    views = (_TABLE_VIEW, _HAND_VIEW)
    model = {
        "kind": "key_points",
        "step": {"action_dim": 7, "proprio_dim": 7, "actions_per_frame": 4, "history": 3},
        "latent_channels": 96,
        "grid": (16, 16),
        "forecast": {
            "state_dim": state.dim,
            "relative": tuple((axis, 3 * point + axis) for point in range(state.points) for axis in range(3)),
            "soft_points": 32,
            "products": False,
        },
        "scene": {"points": state.points, "low": state.low, "high": state.high, "views": views},
        "noise": {"pure": 0.8},
        "unet": {"width": 96, "deep_width": 160, "deep_blocks": 2},
    }
    train = TrainConfig(
        model=model,
        state=state,
        windows=WindowConfig(length=20, history=3),
        optim=OptimConfig(learning_rate=1e-3, ema=0.998),
        batch=8,
        sequences=96,
        steps=60_000,
    )
    return Recipe(train, codec={"kind": "pca", "patch": 8, "channels": 48, "views": 2})


RECIPES: dict[str, Recipe] = {
    "pusht-nano": Recipe(
        TrainConfig(
            model=_KEY_POINTS,
            state=PUSHT_STATE,
            windows=WindowConfig(length=40, history=3),
            optim=OptimConfig(learning_rate=1e-3, ema=0.998),
            batch=10,
            sequences=96,
            sequence_length=27,
            steps=60_000,
        )
    ),
    # The model study: forms a to e at equal minutes, none of them trained on its own rollouts.
    "pusht-form-a": _study({**_TRANSFORMER, "order": "chunk", "context_frames": 3}, length=11, batch=8),
    "pusht-form-b": _study({**_TRANSFORMER, "order": "causal", "context_frames": 6}, batch=8),
    "pusht-form-c": _study({**_TRANSFORMER, "order": "causal", "context_frames": 6, "stem": "conv"}, batch=8),
    "pusht-form-d": _study({**_CONV, **_STUDY}),
    "pusht-form-e": _study({**_KEY_POINTS, "noise": {}}, length=40, sequences=128),
    # The winner with v instead of x0 prediction, and trained for one step only (direct regression).
    "pusht-form-e-v": _study({**_KEY_POINTS, "noise": {}, "prediction": "v"}, length=40, sequences=128),
    "pusht-form-e-regression": _study({**_KEY_POINTS, "noise": {"pure": 1.0}}, length=40, sequences=128),
    "libero-goal-nano": _libero(_GOAL_STATE),
}


def recipe(name: str, overrides: Sequence[str] = ()) -> Recipe:
    """A shipped recipe with ``key=value`` overrides, e.g. ``train.batch=16`` or ``train.model.width=96``.

    Raises:
        InputError: unknown recipe, unknown key, or a value that is not JSON of the right type.
    """
    if name not in RECIPES:
        raise InputError(f"there is no recipe {name!r}; the recipes are {', '.join(RECIPES)}")
    result: Any = RECIPES[name]
    for override in overrides:
        key, equals, text = override.partition("=")
        if not equals:
            raise InputError(f"override {override!r} has no value; write key=value, e.g. train.batch=16")
        try:
            value = json.loads(text)
        except json.JSONDecodeError:
            value = text
        result = _replaced(result, key.split("."), value, override)
    return result  # type: ignore[no-any-return]


def _replaced(record: Any, keys: list[str], value: Any, override: str) -> Any:
    key = keys[0]
    if isinstance(record, dict):
        inner = record.get(key, {})
        return {**record, key: value if len(keys) == 1 else _replaced(inner, keys[1:], value, override)}
    if not dataclasses.is_dataclass(record) or isinstance(record, type):
        raise InputError(f"override {override!r} names {key!r} in {record!r}, which has no fields; shorten its name")
    names = [f.name for f in dataclasses.fields(record)]
    if key not in names:
        raise InputError(f"override {override!r} names no field {key!r}; the fields there are {', '.join(names)}")
    old = getattr(record, key)
    if len(keys) > 1:
        return dataclasses.replace(record, **{key: _replaced(old, keys[1:], value, override)})
    number = isinstance(old, float) and isinstance(value, int) and not isinstance(value, bool)
    if not number and type(value) is not type(old):
        raise InputError(f"override {override!r} gives {value!r} where {old!r} stands; give a value of that type")
    return dataclasses.replace(record, **{key: float(value) if number else value})
