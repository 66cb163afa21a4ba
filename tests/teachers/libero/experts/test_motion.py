"""The arm in the true simulator stays where its controller can bring it back."""

import numpy as np
import pytest

from teachers.libero.experts.knobs import Knobs
from teachers.libero.experts.motion import OPEN, Arm, Tolerance
from teachers.libero.experts.scene import Scene
from world_model.extras import absent

pytestmark = pytest.mark.skipif(bool(absent("libero")), reason='needs pip install "simforcing-env[libero]"')


def test_it_comes_back_from_a_place_that_it_cannot_reach() -> None:
    from teachers.libero.world import LiberoWorld

    world = LiberoWorld.open("libero_90", 13)
    world.reset(0)
    arm = Arm(Scene(world), Knobs(), np.random.default_rng(0))
    home = arm.scene.hand
    for target in (home + np.array([0.6, 0.1, 0.0]), home):
        for action in arm.go(target, arm.rest, OPEN, Tolerance(steps=60)):
            world.step(action)
    world.env.close()
    assert np.linalg.norm(arm.scene.hand - home) < 0.02
    assert arm.scene.hand_rotation[2, 2] < -0.99
