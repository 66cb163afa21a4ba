"""Both domains follow the same hand: alignment, refusals, moments."""

import dataclasses

import numpy as np
import pytest

pytest.importorskip("gym_pusht")
pytest.importorskip("mujoco")

from teachers.appearance.paired import PairedTeacher, play
from teachers.appearance.worlds import make_paired
from teachers.pusht.contract import pusht_contract
from teachers.pusht.mujoco_teacher import MujocoPushTTeacher
from teachers.pusht.teacher import PushTConfig, PushTTeacher
from world_model.data.pairs import Pair
from world_model.errors import ContractError, InputError

START = "near-800011"


@pytest.fixture(scope="module")
def paired(drawing):
    return make_paired("pusht", pusht_contract(32))


@pytest.fixture(scope="module")
def actions():
    return (256 + np.random.default_rng(0).normal(0, 60, (12, 1, 2))).clip(0, 512).astype(np.float32)


def test_clips_are_aligned(paired, actions):
    pair = paired.play(START, actions)
    assert len(pair) == 13
    assert np.array_equal(pair.sim.proprio, pair.real.proprio)
    assert np.abs(pair.sim.state - pair.real.state).max() < 2
    assert np.ptp(pair.real.state[:, 0]) > 5  # the block did move
    assert np.abs(pair.sim.frames.astype(int) - pair.real.frames).mean() > 60
    assert np.array_equal(pair.actions, actions)
    red = pair.sim.frames[..., 0] > pair.sim.frames[..., 2].astype(int) + 90  # the pusher and the block
    blue = pair.real.frames[..., 2] > pair.real.frames[..., 0].astype(int) + 90  # the pusher alone
    assert (red & blue).sum() > 0.6 * blue.sum()


def test_playing_is_stepping_and_repeats(paired, actions):
    pair = paired.play(START, actions)
    steps = [paired.reset(START), *(paired.step(action) for action in actions)]
    for side in ("sim", "real"):
        episode = getattr(pair, side)
        frames = [getattr(step, side).observation.frames["top"] for step in steps]
        assert np.array_equal(np.stack(frames), episode.frames)
        assert [getattr(step, side).labels["coverage"] for step in steps] == pytest.approx(episode.labels["coverage"])
    again = paired.play(START, actions)
    assert np.array_equal(again.sim.frames, pair.sim.frames)
    assert np.array_equal(again.real.frames, pair.real.frames)


def test_each_side_is_what_its_teacher_alone_would_record(paired, actions):
    alone = play(PushTTeacher(PushTConfig(size=32)), START, actions)
    assert np.array_equal(alone.frames, paired.play(START, actions).real.frames)


def test_a_moment_of_both_is_gone_back_to(paired, actions):
    paired.reset(START, render=False)
    for action in actions[:4]:
        paired.step(action, render=False)
    saved = paired.snapshot()
    expected = [paired.step(action, render=False) for action in actions[4:]][-1]
    paired.restore(saved)
    found = [paired.step(action, render=False) for action in actions[4:]][-1]
    assert (found.sim.labels, found.real.labels) == (expected.sim.labels, expected.real.labels)
    with pytest.raises(InputError, match="nothing for the sim domain"):
        paired.restore({"real/teacher": np.array("pusht")})


def test_what_is_no_pair_is_refused(paired, actions):
    pair = paired.play(START, actions)
    with pytest.raises(InputError, match="are not a pair"):
        Pair(pair.sim, dataclasses.replace(pair.real, start="near-1"))
    with pytest.raises(InputError, match="are not a pair"):
        Pair(pair.sim, paired.play(START, actions[:5]).real)
    with pytest.raises(ContractError, match="height"):
        PairedTeacher(MujocoPushTTeacher(), PushTTeacher(PushTConfig(size=96)))
    with pytest.raises(InputError, match="world 'chess' has no two looks"):
        make_paired("chess")
