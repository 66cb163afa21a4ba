"""LIBERO suites: scenes in space, seen from the front and from the hand."""

from __future__ import annotations

import math

from world_model.models.views import ViewConfig
from world_model.training.config import OptimConfig, TrainConfig
from world_model.training.recipe import Recipe
from world_model.training.state_encoding import Joint, SceneEncoding, SpatialBody
from world_model.training.windows import WindowConfig

LIBERO_LOW, LIBERO_HIGH = (-0.9, -0.8, 0.8), (0.5, 0.8, 1.8)
"""Bounds (m) of places in the table-top suites, those of the hand in their contracts."""
_UPRIGHT = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.06))
_LYING = (*_UPRIGHT, (0.05, 0.0, 0.0))
_JOINTS = (
    Joint("flat_stove_1_button", -0.5, 2.0),
    *(Joint(f"wooden_cabinet_1_{level}_level", -0.2, 0.02) for level in ("bottom", "middle", "top")),
)
_GOAL_STATE = SceneEncoding(
    bodies=(
        SpatialBody("akita_black_bowl_1", _UPRIGHT),
        SpatialBody("cream_cheese_1", _LYING),
        SpatialBody("plate_1", _UPRIGHT),
        SpatialBody("wine_bottle_1", _UPRIGHT),
        *(SpatialBody(name) for name in ("flat_stove_1", "wine_rack_1", "wooden_cabinet_1")),
    ),
    joints=_JOINTS,
    low=LIBERO_LOW,
    high=LIBERO_HIGH,
)
_SPATIAL_STATE = SceneEncoding(
    bodies=(
        SpatialBody("akita_black_bowl_1", _UPRIGHT),
        SpatialBody("akita_black_bowl_2", _UPRIGHT),
        SpatialBody("cookies_1", _LYING),
        SpatialBody("glazed_rim_porcelain_ramekin_1", _UPRIGHT),
        SpatialBody("plate_1", _UPRIGHT),
        *(SpatialBody(name) for name in ("flat_stove_1", "wooden_cabinet_1")),
    ),
    joints=_JOINTS,
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


LIBERO_RECIPES: dict[str, Recipe] = {
    "libero-goal-nano": _libero(_GOAL_STATE),
    "libero-spatial-nano": _libero(_SPATIAL_STATE),
}
