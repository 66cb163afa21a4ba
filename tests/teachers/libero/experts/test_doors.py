"""A door is read from the true simulator as it was built."""

import numpy as np
import pytest

from world_model.extras import absent

pytestmark = pytest.mark.skipif(bool(absent("libero")), reason='needs pip install "simforcing-env[libero]"')


def test_the_microwave_has_its_handle_outside_and_far_from_the_hinge() -> None:
    from teachers.libero.experts.doors import Door
    from teachers.libero.experts.scene import Scene
    from teachers.libero.world import LiberoWorld

    world = LiberoWorld.open("libero_90", 35)
    world.reset(0)
    door = Door.of(Scene(world), "microwave_1")
    world.env.close()
    assert door.handle @ door.outward > 0.05  # it stands off the panel
    assert 0.2 < np.linalg.norm(door.handle[:2]) < 0.26
    assert np.isclose(np.linalg.norm(door.outward), 1.0)
    assert door.open_at < -1.3 < door.value
    quarter = door.at(door.value - door.sense * np.pi / 2, door.outward)
    assert np.isclose(quarter @ door.outward, 0.0, atol=1e-9)
