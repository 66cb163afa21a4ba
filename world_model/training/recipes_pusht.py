"""Push-T: the shipped recipe, and those of the study of model forms."""

from __future__ import annotations

from typing import Any

from world_model.training.config import OptimConfig, TrainConfig
from world_model.training.recipe import Recipe
from world_model.training.state_encoding import PlanarBody, StateEncoding
from world_model.training.windows import WindowConfig

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


PUSHT_RECIPES: dict[str, Recipe] = {
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
}
