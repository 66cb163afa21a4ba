"""Live simulation latents: the encoded frames of the sim domain, whatever the chunks, rows and branches."""

import numpy as np
import pytest
import torch

pytest.importorskip("gym_pusht")
pytest.importorskip("mujoco")

from teachers.appearance.latents import SimulationLatents
from teachers.appearance.paired import play
from teachers.appearance.worlds import make_sim
from teachers.pusht.contract import pusht_contract
from world_model.codecs import SpaceToDepth, SpaceToDepthConfig
from world_model.errors import InputError

CONTRACT = pusht_contract(32)
STARTS = ["near-800001", "seed-800002"]


@pytest.fixture(scope="module")
def codec():
    return SpaceToDepth(SpaceToDepthConfig(4))


@pytest.fixture(scope="module")
def actions():
    return (256 + np.random.default_rng(0).normal(0, 70, (2, 6, 1, 2))).clip(0, 512).astype(np.float32)


@pytest.fixture
def live(codec, drawing):
    return SimulationLatents.of_world(CONTRACT, codec, 2)


def test_latents_are_those_of_the_sim_domains_frames(live, codec, actions):
    first = live.reset(STARTS)
    assert first.shape == (2, 48, 8, 8)
    latents = torch.cat([live.advance(actions[:, :2]), live.advance(actions[:, 2:])], dim=1)
    teacher = make_sim("pusht", CONTRACT)
    for row, start in enumerate(STARTS):
        frames = torch.from_numpy(play(teacher, start, actions[row]).frames)
        assert torch.equal(torch.cat([first[row][None], latents[row]]), codec.encode(frames))


def test_some_episodes_go_on_while_others_wait(live, actions):
    live.reset(STARTS)
    both = live.advance(actions)
    live.reset(STARTS)
    assert torch.equal(live.advance(actions[1:], rows=[1])[0], both[1])
    live.reset(["near-3"], rows=np.array([1]))
    assert torch.equal(live.advance(actions[:1], rows=[0])[0], both[0])


def test_branches_and_moments(live, actions):
    live.reset(STARTS)
    live.advance(actions[:, :3])
    saved = live.snapshot()
    expected = live.advance(actions[:, 3:])
    live.restore(saved)
    branches = live.branch(1, 3)
    together = branches.advance(np.repeat(actions[1:, 3:], 3, axis=0))
    assert all(torch.equal(one, expected[1]) for one in together)
    assert torch.equal(live.advance(actions[:, 3:]), expected)


def test_what_cannot_be_followed_is_refused(live, codec, actions):
    with pytest.raises(InputError, match="reset"):
        live.advance(actions)
    live.reset(STARTS)
    with pytest.raises(InputError, match="got 1 starts for 2 episodes"):
        live.reset(STARTS[:1])
    with pytest.raises(InputError, match="outside"):
        live.advance(actions + 600)
    with pytest.raises(InputError, match="at least 1 teacher"):
        SimulationLatents([], codec)
