"""Sizes and options that cannot be are refused by one sentence when a config is made."""

from __future__ import annotations

import pytest

from world_model.errors import DataError
from world_model.models import MODELS
from world_model.registry import build_config

STEP = {"action_dim": 2, "proprio_dim": 2}
GOOD = {"kind": "key_points", "step": STEP, "forecast": {"state_dim": 6}}


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"prediction": "a"}, "prediction is 'a' but must be one of x0, v"),
        ({"grid": (0, 16)}, "grid is"),
        ({"proprio_points": (-1, 0)}, "proprio_points is"),
        ({"pairs": 0}, "pairs is 0"),
        ({"forget": 1.5}, "forget is 1.5"),
        ({"noise": {"pure": -1}}, "pure is -1"),
        ({"unet": {"heads": 0}}, "heads is 0"),
        ({"unet": {"deep_width": 100, "heads": 3}}, "deep_width is 100"),
        ({"step": {**STEP, "relative": ((0, 2),)}}, r"relative has the pair \(0, 2\)"),
        ({"step": {**STEP, "relative": ((-1, 0),)}}, "relative is"),
        ({"forecast": {"state_dim": 6, "relative": ((2, 0),)}}, r"forecast.relative has the pair \(2, 0\)"),
        ({"forecast": {"state_dim": 6, "rigid": ((0, 4),)}}, "rigid has the key points 0 to 4 but there are 3"),
        ({"kind": "next_frame", "forecast": None, "rollout": 2.0}, "rollout is 2.0"),
    ],
)
def test_refused(changes: dict[str, object], text: str) -> None:
    values = {name: value for name, value in {**GOOD, **changes}.items() if value is not None}
    with pytest.raises(DataError, match=text):
        build_config(MODELS, values, "recipe 'x'")


def test_accepted() -> None:
    assert build_config(MODELS, GOOD, "recipe 'x'")[0] == "key_points"
