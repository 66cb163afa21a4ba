"""Knobs refuse values that mean nothing."""

import pytest

from teachers.libero.experts.knobs import Knobs
from world_model.errors import InputError


def test_at_rest_nothing_is_made_worse() -> None:
    knobs = Knobs()
    assert (knobs.action_noise, knobs.waypoint_bias, knobs.missed_grasp, knobs.wrong_object, knobs.late_grasp) == (
        0,
    ) * 5


@pytest.mark.parametrize(
    ("name", "value"),
    [("action_noise", -0.1), ("waypoint_bias", float("nan")), ("missed_grasp", 1.5), ("speed", 0.0), ("attempts", 0)],
)
def test_a_meaningless_value_is_named(name: str, value: float) -> None:
    with pytest.raises(InputError, match=name.split("_")[0]):
        Knobs(**{name: value})
