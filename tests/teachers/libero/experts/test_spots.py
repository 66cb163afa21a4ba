"""Where things go, read from true scenes."""

from collections.abc import Iterator

import numpy as np
import pytest

from teachers.libero.experts.carrying import Spot
from teachers.libero.experts.scene import Scene
from teachers.libero.experts.spots import aside, spot
from world_model.extras import absent

pytestmark = pytest.mark.skipif(bool(absent("libero")), reason='needs pip install "simforcing-env[libero]"')
DRAWER = "white_cabinet_1_top_region"


@pytest.fixture(scope="module")
def scene() -> Iterator[Scene]:
    """A bottle of ketchup, a bowl, and a cabinet whose top drawer stands open."""
    from teachers.libero.world import LiberoWorld

    world = LiberoWorld.open("libero_90", 32)
    world.reset(0)
    yield Scene(world)
    world.env.close()


def test_a_tall_bottle_is_laid_down_in_a_drawer_and_a_bowl_stands(scene: Scene) -> None:
    bottle, bowl = spot(scene, "ketchup_1", DRAWER), spot(scene, "akita_black_bowl_1", DRAWER)
    assert isinstance(bottle, Spot)
    assert isinstance(bowl, Spot)
    assert bottle.tip is not None
    assert np.allclose(bottle.tip, [1.0, 0.0, 0.0])  # along the drawer, away from the robot
    assert bowl.tip is None
    assert bottle.floor < bowl.floor


def test_what_is_set_aside_is_out_of_the_way_and_within_reach(scene: Scene) -> None:
    place = aside(scene, "akita_black_bowl_1", DRAWER)
    for name in ("ketchup_1", "plate_1", "white_cabinet_1"):
        assert np.linalg.norm(scene.points(name)[:, :2] - place.xy, axis=1).min() > 0.08
    assert 0.4 < np.linalg.norm(place.xy - scene.foot[:2]) < 0.74
    assert abs(place.floor - scene.points("akita_black_bowl_1")[:, 2].min()) < 0.02


def test_an_open_drawer_is_near_or_not(scene: Scene) -> None:
    assert not scene.open_drawer_near("plate_1", DRAWER)
    assert scene.open_drawer_near("plate_1", DRAWER, near=1.0)
    assert not scene.open_drawer_near("ketchup_1", "akita_black_bowl_1")
