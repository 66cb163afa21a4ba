"""Frames: gym-pusht's own in the stock look, steady ones in the area look, the goal where it is asked for."""

import numpy as np
import pytest

pytest.importorskip("gym_pusht")

from gym_pusht.envs.pusht import PushTEnv

from teachers.pusht.physics import STOCK_GOAL, PushTState, PushTWorld
from teachers.pusht.render import Renderer
from teachers.pusht.teacher import PushTConfig, PushTTeacher
from world_model.errors import InputError

GREEN = (144, 238, 144)


@pytest.mark.parametrize("size", [64, 96])
def test_the_stock_look_is_gym_pushts_picture_bit_for_bit(size):
    stock = PushTEnv(obs_type="pixels", observation_width=size, observation_height=size)
    world, renderer = PushTWorld(), Renderer(STOCK_GOAL, "stock")
    stock.reset(seed=5)
    world.reset_seed(5)
    for _ in range(25):  # straight into the block, so that contact marks are drawn too
        target = np.array(world.block_pose[:2]).clip(0, 512)
        picture = stock.step(target)[0]
        world.step(*map(float, target))
        assert np.array_equal(picture, renderer.render(world, size))


def test_the_area_look_moves_smoothly_where_the_stock_look_jumps():
    """A pusher that moves by an eighth of a small pixel changes its frame by about as much each time."""

    def changes(look):
        world, renderer, frames = PushTWorld(), Renderer(STOCK_GOAL, look), []
        for x in range(100, 132):
            world.reset_state(PushTState(x, 400, 350, 100, 0))
            frames.append(renderer.render(world, 64).astype(float))
        return np.abs(np.diff(np.stack(frames), axis=0)).sum((1, 2, 3))

    area, stock = changes("area"), changes("stock")
    assert area.std() / area.mean() < 0.35 * stock.std() / stock.mean()


def test_the_commanded_target_is_not_drawn():
    a, b = PushTTeacher(), PushTTeacher()
    for teacher, target in ((a, (256.0, 30.0)), (b, (256.0, 470.0))):
        teacher.reset("seed-3")
        teacher.step(np.array([target]))
        teacher.reset_to_state(PushTState(100, 100, 300, 300, 0))
    assert np.array_equal(a.render()["top"], b.render()["top"])


def test_the_goal_is_drawn_where_it_is_asked_for():
    teacher = PushTTeacher(PushTConfig(goal=(400.0, 120.0, 0.0)))
    frame = teacher.reset_to_state(PushTState(60, 60, 100, 400, 0)).frames["top"]
    rows, columns = np.nonzero((frame == GREEN).all(-1))
    # From 60 px left to 60 px right of x = 400 and 120 px down from y = 120: the small pixels wholly inside.
    assert (columns.min(), columns.max()) == (43, 56)
    assert (rows.min(), rows.max()) == (15, 29)


def test_frames_are_right_way_up_and_in_rgb():
    frame = PushTTeacher().reset_to_state(PushTState(60, 440, 400, 100, 0)).frames["top"]
    assert frame.shape == (64, 64, 3)
    assert frame.dtype == np.uint8
    blue = frame[440 // 8, 60 // 8].astype(int)
    assert blue[2] > blue[0] + 80  # the pusher is royal blue, low y is up


def test_an_unknown_look_is_refused():
    with pytest.raises(InputError, match="'shiny'"):
        Renderer(STOCK_GOAL, "shiny")
