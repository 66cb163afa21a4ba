"""The arm in the true simulator stays where its controller can bring it back."""

import numpy as np
import pytest

from teachers.libero.experts.knobs import Knobs
from teachers.libero.experts.motion import OPEN, STRETCHED, Arm, Tolerance
from teachers.libero.experts.scene import Scene
from world_model.extras import absent

pytestmark = pytest.mark.skipif(bool(absent("libero")), reason='needs pip install "simforcing-env[libero]"')


def test_its_elbow_stays_bent_at_a_place_that_is_too_far() -> None:
    from teachers.libero.world import LiberoWorld

    world = LiberoWorld.open("libero_90", 13)
    world.reset(0)
    arm = Arm(Scene(world), Knobs(), np.random.default_rng(0))
    home, elbow = arm.scene.hand, []
    for target in (np.array([0.16, 0.13, 0.93]), home):
        for action in arm.go(target, arm.rest, OPEN, Tolerance(steps=60)):
            world.step(action)
            elbow.append(arm.scene.elbow)
    world.env.close()
    assert max(elbow) < STRETCHED - 0.1
    assert np.linalg.norm(arm.scene.hand - home) < 0.02
