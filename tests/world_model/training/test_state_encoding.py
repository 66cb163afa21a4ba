"""Training targets from recorded states, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from world_model.errors import DataError
from world_model.training.state_encoding import ABSENT, Joint, SceneEncoding, SpatialBody

NAMES = [f"cup_{part}" for part in ("here", "x", "y", "z", "r1", "r2", "r3", "r4", "r5", "r6")] + ["drawer"]


def test_points_turn_with_their_body_and_joints_are_scaled() -> None:
    """A quarter turn about z takes the body's x to the world's y; the third axis is the cross product."""
    encoding = SceneEncoding(
        (SpatialBody("cup", ((0.0, 0.0, 0.0), (0.1, 0.0, 0.0), (0.0, 0.0, 0.2))),),
        (Joint("drawer", -0.2, 0.0),),
        low=(0.0, 0.0, 0.0),
        high=(1.0, 2.0, 1.0),
    )
    state = np.array([[1.0, 0.5, 1.0, 0.5, 0.0, 1.0, 0.0, -1.0, 0.0, 0.0, -0.05]])
    wanted = [0.0, 0.0, 0.0, 0.0, 0.1, 0.0, 0.0, 0.0, 0.4, 0.5]
    assert encoding.dim == 10
    np.testing.assert_allclose(encoding.encode(state, NAMES)[0], wanted, atol=1e-6)


def test_what_a_scene_has_not_is_put_aside() -> None:
    encoding = SceneEncoding((SpatialBody("cup"),), low=(0.0, 0.0, 0.0))
    np.testing.assert_array_equal(encoding.encode(np.zeros((2, 11)), NAMES), [ABSENT, ABSENT])


def test_a_state_that_was_not_recorded_is_named() -> None:
    with pytest.raises(DataError, match="no state 'plate_x'"):
        SceneEncoding((SpatialBody("plate"),)).encode(np.zeros((1, 11)), NAMES)
