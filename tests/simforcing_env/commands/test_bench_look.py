"""The two looks of LIBERO held against each other in the simulator itself."""

import numpy as np
import pytest

from simforcing_env.commands.bench_look import Config, hold_against, run
from world_model.errors import InputError
from world_model.extras import absent

pytestmark = pytest.mark.skipif(bool(absent("libero")), reason="pip install '.[libero]'")


@pytest.fixture(scope="module")
def teachers(drawing):
    from teachers.libero.teacher import LiberoConfig, LiberoTeacher

    return {look: LiberoTeacher(LiberoConfig(suite="libero_goal", size=64, look=look)) for look in ("stock", "fast")}


def test_the_fast_look_is_near_the_stock_one_and_the_same_actions_are_played(teachers):
    stock, fast = teachers["stock"], teachers["fast"]
    drawn = hold_against(stock, fast, "libero_goal/8/40", 2, np.random.default_rng(0))
    assert 30 < drawn.worst_psnr <= drawn.psnr < 60
    assert drawn.stock_ms > 0
    assert drawn.fast_ms > 0
    assert stock.world.object_poses().keys() == fast.world.object_poses().keys()
    for name, pose in stock.world.object_poses().items():
        np.testing.assert_array_equal(fast.world.object_poses()[name], pose)


def test_more_starts_than_there_are_test_states_are_refused():
    with pytest.raises(InputError, match="starts"):
        run(Config(starts=11))
