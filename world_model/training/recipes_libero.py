"""LIBERO suites: scenes in space, seen from the front and from the hand."""

from __future__ import annotations

import math

from world_model.models.views import ViewConfig
from world_model.training.config import OptimConfig, TrainConfig
from world_model.training.recipe import Recipe
from world_model.training.state_encoding import Joint, SceneEncoding, SpatialBody
from world_model.training.windows import WindowConfig

_TABLE_LOW, _TABLE_HIGH = (-0.9, -0.8, 0.8), (0.5, 0.8, 1.8)
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
    low=_TABLE_LOW,
    high=_TABLE_HIGH,
)
_HAND = ((0.0, 0.0, -0.1), (0.0, 0.0, -0.25), (0.1, 0.0, -0.1), (0.0, 0.1, -0.1))
"""m, in the hand's axes, which point along the fingers: its wrist, its forearm, its sides."""
_FLOOR_LOW, _FLOOR_HIGH = (-0.9, -0.8, -0.1), (0.5, 0.8, 0.9)
"""The same of the suite that plays on the floor."""
_ANYHOW = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.06), (0.06, 0.0, 0.0))
_GROCERIES = (
    "alphabet_soup_1",
    "bbq_sauce_1",
    "butter_1",
    "chocolate_pudding_1",
    "cream_cheese_1",
    "ketchup_1",
    "milk_1",
    "orange_juice_1",
    "salad_dressing_1",
    "tomato_sauce_1",
)
_OBJECT_STATE = SceneEncoding(
    bodies=tuple(SpatialBody(name, _ANYHOW) for name in ("basket_1", *_GROCERIES)), low=_FLOOR_LOW, high=_FLOOR_HIGH
)
# LIBERO's views from the front, and the camera on the hand; measured in the simulator.
_TABLE_VIEW = ViewConfig(
    focal=1 / math.tan(math.radians(45 / 2)),
    position=(0.658613175, 0.0, 1.610350024),
    axes=(0.0, -0.62826645, 0.777998244, 1.0, 0.0, 0.0, 0.0, 0.777998244, 0.62826645),
)
_FLOOR_VIEW = ViewConfig(
    focal=1 / math.tan(math.radians(45 / 2)),
    position=(0.896577372, 0.0, 0.65),
    axes=(0.0, -0.528769744, 0.848765314, 1.0, 0.0, 0.0, 0.0, 0.848765314, 0.528769744),
)
_HAND_VIEW = ViewConfig(
    focal=1 / math.tan(math.radians(75 / 2)),
    position=(0.0, 0.05, -0.097),
    axes=(-1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, -1.0),
    mounted=True,
)


def _libero(state: SceneEncoding, front: ViewConfig, planes: tuple[float, ...]) -> Recipe:
    """128 x 128 from both cameras, folded into channels; the state is read through points of the reader's choice."""
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
        "scene": {
            "points": state.points,
            "low": state.low,
            "high": state.high,
            "views": (front, _HAND_VIEW),
            "hand_points": _HAND,
            "planes": planes,
        },
        "noise": {"pure": 0.8},
        "anchors": 2,
        "gated": True,
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
    "libero-goal-nano": _libero(_GOAL_STATE, _TABLE_VIEW, (0.9, 1.0)),
    "libero-object-nano": _libero(_OBJECT_STATE, _FLOOR_VIEW, (0.0, 0.1)),
}
