"""The arm in the true simulator stays where its controller can bring it back."""

import numpy as np
import pytest

from teachers.libero.experts.knobs import Knobs
from teachers.libero.experts.motion import OPEN, STRETCHED, Arm, Tolerance
from teachers.libero.experts.scene import Scene
from world_model.extras import absent

pytestmark = pytest.mark.skipif(bool(absent("libero")), reason='needs pip install "simforcing-env[libero]"')


def test_an_elbow_that_went_past_straight_is_bent_again() -> None:
    from teachers.libero.world import LiberoWorld

    world = LiberoWorld.open("libero_90", 13)
    world.reset(0)
    arm, elbow = Arm(Scene(world), Knobs(), np.random.default_rng(0)), []
    for action in arm.go(np.array([0.16, 0.13, 0.93]), arm.rest, OPEN, Tolerance(steps=60)):
        world.step(action)
        elbow.append(arm.scene.elbow)
    world.env.close()
    assert max(elbow) > STRETCHED
    assert elbow[-1] < STRETCHED - 0.1
