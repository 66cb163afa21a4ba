"""The world is gym-pusht's, bit for bit, and starts where it is told to."""

import math

import numpy as np
import pytest

pytest.importorskip("gym_pusht")

from gym_pusht.envs.pusht import PushTEnv

from teachers.pusht.physics import PushTState, PushTWorld
from teachers.pusht.scoring import CENTRE


@pytest.mark.parametrize("seed", [0, 7, 800_003])
def test_a_seed_and_actions_give_gym_pushts_states_bit_for_bit(seed):
    stock, world = PushTEnv(obs_type="state"), PushTWorld()
    observation, _ = stock.reset(seed=seed)
    world.reset_seed(seed)
    generator = np.random.default_rng(seed)
    moved = 0.0
    for _ in range(60):
        state = world.state
        assert observation[:4].tolist() == list(state[:4])
        assert observation[4] == state.angle % (2 * math.pi)
        target = (world.block_pose[:2] + generator.normal(0, 50, 2)).clip(0, 512).astype(np.float32)
        observation = stock.step(target)[0]
        world.step(float(target[0]), float(target[1]))
        moved += math.dist(world.state[2:4], state[2:4])
    assert moved > 50  # the pusher was at work


@pytest.mark.parametrize("angle", [0.0, 1.0, -3.0, 9.0])
def test_reset_to_state_gives_exactly_that_state(angle):
    world = PushTWorld()
    world.reset_state(PushTState(100, 120, 200, 250, angle, 30, -40))
    state = world.state
    assert (state.agent_x, state.agent_y, state.agent_vx, state.agent_vy) == (100, 120, 30, -40)
    assert state.angle == angle
    assert (state.block_x, state.block_y) == pytest.approx(
        (200, 250), abs=1e-12
    )  # Chipmunk stores the centre of gravity


def test_the_block_has_the_outline_and_centre_that_scoring_assumes():
    world = PushTWorld()
    corners = {tuple(v) for shape in world.block_shapes for v in shape.get_vertices()}
    assert corners == {(-60, 0), (60, 0), (60, 30), (-60, 30), (15, 30), (15, 120), (-15, 120), (-15, 30)}
    assert tuple(world.block.center_of_gravity) == tuple(CENTRE)
