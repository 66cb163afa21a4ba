"""Ends of episodes: success and time limits, in each of Gymnasium's three auto-reset modes."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from tests.world_model.tiny import tiny_simulator

MODES = list(AutoresetMode)


def targets(*rows):
    """Chunks of x targets (y is 50), one row for each environment."""
    x = np.array(rows, np.float32)
    return np.stack([x, np.full_like(x, 50)], -1)


@pytest.mark.parametrize("mode", MODES)
def test_the_mode_is_declared(make_vector, mode):
    for given in (mode, mode.value):
        assert make_vector(1, autoreset_mode=given).metadata["autoreset_mode"] is mode


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("xs", "valid", "reward"),
    [
        ([90, 10, 20], 1, 0.9),  # success on the first frame, undone later
        ([10, 90, 20], 2, 1.0),  # in the middle, undone later
        ([10, 20, 90], 3, 1.2),  # on the last frame
    ],
)
def test_success_inside_a_chunk(make_vector, mode, xs, valid, reward):
    env = make_vector(2, chunk=3, autoreset_mode=mode)
    env.reset(seed=0, options={"start": "left"})
    observation, rewards, terminated, truncated, info = env.step(targets([10, 20, 30], xs))
    assert terminated.tolist() == [False, True]
    assert truncated.tolist() == [False, False]
    np.testing.assert_allclose(rewards, [0.6, reward], atol=1e-4)
    if mode is AutoresetMode.SAME_STEP:
        observation = {key: value.copy() for key, value in observation.items()}
        for key in observation:
            observation[key][1] = info["final_obs"][1][key]
        assert info["final_obs"][0] is None
        info = info["final_info"] | {"frames_valid": info["frames_valid"] + info["final_info"]["frames_valid"]}
    assert info["frames_valid"].tolist() == [3, valid]
    assert info["is_success"][1]
    np.testing.assert_array_equal(observation["image"][1], info["frames"][1, valid - 1])
    np.testing.assert_allclose(observation["proprio"][1], [xs[valid - 1], 50], atol=1e-3)
    assert info["brightness"][1] == info["labels"]["brightness"][1, valid - 1]


def test_next_step_resets_at_the_next_step(make_vector):
    env = make_vector(2, chunk=2)
    env.reset(seed=0)
    env.step(targets([10, 20], [90, 90]))
    actions = targets([30, 40], [np.nan, 1e9])  # ignored where the episode has ended
    observation, rewards, terminated, truncated, info = env.step(actions)
    assert not terminated.any()
    assert not truncated.any()
    assert rewards[1] == 0
    assert info["_rewards"].tolist() == [True, False]
    assert info["_start"].tolist() == [True, True]
    starts = tiny_simulator().starts
    np.testing.assert_array_equal(observation["image"][1], starts.frames[starts.index(info["start"][1])])
    np.testing.assert_array_equal(observation["image"][0], info["frames"][0, -1])
    _, rewards, *_, info = env.step(targets([30, 40], [10, 20]))
    np.testing.assert_allclose(rewards[1], 0.3, atol=1e-4)
    assert info["_rewards"].all()


def test_same_step_resets_at_once(make_vector):
    env = make_vector(3, chunk=2, autoreset_mode="SameStep")
    _, first = env.reset(seed=0)
    observation, rewards, terminated, _, info = env.step(targets([10, 20], [90, 10], [10, 90]))
    assert terminated.tolist() == [False, True, True]
    np.testing.assert_allclose(rewards, [0.3, 0.9, 1.0], atol=1e-4)
    assert info["_final_obs"].tolist() == info["_final_info"].tolist() == [False, True, True]
    assert info["_rewards"].tolist() == [True, False, False]
    assert info["final_info"]["_rewards"].tolist() == [False, True, True]
    assert info["final_info"]["episode_seed"].tolist()[1:] == first["episode_seed"].tolist()[1:]
    assert (info["episode_seed"][1:] != first["episode_seed"][1:]).all()
    starts = tiny_simulator().starts
    for row in (1, 2):
        assert info["final_obs"][row]["proprio"][0] == pytest.approx(90, abs=1e-3)
        np.testing.assert_array_equal(observation["image"][row], starts.frames[starts.index(info["start"][row])])
    *_, terminated, _, info = env.step(targets([10, 20], [10, 20], [10, 20]))
    assert not terminated.any()
    assert "final_obs" not in info
    assert info["frames_valid"].tolist() == [2, 2, 2]


def test_same_step_when_all_end(make_vector):
    env = make_vector(2, chunk=2, autoreset_mode="SameStep")
    env.reset(seed=0)
    _, _, terminated, _, info = env.step(targets([90, 10], [10, 90]))
    assert terminated.all()
    assert info["_final_info"].all()
    assert not info["_rewards"].any()
    assert info["final_info"]["frames_valid"].tolist() == [1, 2]


def test_disabled_waits_for_a_reset_mask(make_vector):
    env = make_vector(2, chunk=2, autoreset_mode="Disabled")
    env.reset(seed=0)
    ended, *_ = env.step(targets([10, 20], [90, 90]))
    observation, rewards, terminated, _, info = env.step(targets([30, 40], [10, 20]))
    assert terminated.tolist() == [False, True]
    assert rewards[1] == 0
    assert info["frames_valid"].tolist() == [2, 0]
    np.testing.assert_array_equal(observation["image"][1], ended["image"][1])
    before = observation["image"][0].copy()
    mask = np.array([False, True])
    options = {"reset_mask": mask, "start": "left"}
    observation, info = env.reset(seed=[None, 7], options=options)
    assert options["reset_mask"] is mask  # the caller's dict stays whole
    np.testing.assert_array_equal(observation["image"][0], before)
    np.testing.assert_array_equal(observation["image"][1], tiny_simulator().starts.frames[0])
    assert info["_start"].tolist() == [False, True]
    assert info["episode_seed"][1] == 7
    _, rewards, terminated, *_ = env.step(targets([30, 40], [10, 20]))
    assert not terminated.any()
    np.testing.assert_allclose(rewards, [0.7, 0.3], atol=1e-4)


def test_all_ended_in_disabled_mode(make_vector):
    env = make_vector(2, autoreset_mode="Disabled")
    env.reset(seed=0)
    env.step(targets(90, 90))
    *_, terminated, _, info = env.step(targets(10, 10))
    assert terminated.all()
    assert info["frames_valid"].tolist() == [0, 0]
    assert info["brightness"].shape == (2,)


@pytest.mark.parametrize("mode", MODES)
def test_time_limit_counts_steps(make_vector, mode):
    env = make_vector(2, chunk=2, max_episode_steps=3, autoreset_mode=mode)
    env.reset(seed=0)
    for step in range(1, 4):
        _, _, terminated, truncated, _ = env.step(targets([10, 20], [10, 20]))
        assert truncated.tolist() == [step == 3] * 2
        assert not terminated.any()
    if mode is AutoresetMode.DISABLED:
        env.reset()
    elif mode is AutoresetMode.NEXT_STEP:
        assert not env.step(targets([10, 20], [10, 20]))[3].any()  # the reset step counts for nothing
    for step in range(1, 4):
        assert env.step(targets([10, 20], [10, 20]))[3].tolist() == [step == 3] * 2


def test_success_and_time_limit_together(make_vector):
    env = make_vector(1, max_episode_steps=1, autoreset_mode="Disabled")
    env.reset(seed=0)
    _, _, terminated, truncated, _ = env.step(targets(90))
    assert terminated.tolist() == truncated.tolist() == [True]


def test_the_threshold_is_the_users(make_vector):
    env = make_vector(1, success_threshold=1.0)  # the probability never exceeds it
    env.reset(seed=0)
    assert not env.step(targets(90))[2].any()


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_gymnasiums_own_episode_statistics(make_vector, mode):
    env = gym.wrappers.vector.RecordEpisodeStatistics(make_vector(2, chunk=2, autoreset_mode=mode, max_episode_steps=2))
    env.reset(seed=0)
    env.step(targets([10, 20], [90, 10]))
    *_, info = env.step(targets([10, 20], [10, 20]))
    assert info["episode"]["l"][0] == 2
    assert info["episode"]["r"][0] == pytest.approx(0.6, abs=1e-4)


def test_same_as_gymnasiums_sync_vector_env(make_vector, make_single):
    """Infos, masks and observations as `SyncVectorEnv` over single environments gives them."""
    for mode in (AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP):
        ours = make_vector(3, chunk=2, max_episode_steps=3, autoreset_mode=mode)
        theirs = gym.vector.SyncVectorEnv([lambda: make_single(chunk=2, max_episode_steps=3)] * 3, autoreset_mode=mode)
        compare(ours.reset(seed=4), theirs.reset(seed=4))
        rng = np.random.default_rng(0)
        for _ in range(8):
            actions = targets(*rng.uniform(0, 85, (3, 2)))
            compare(ours.step(actions), theirs.step(actions))


def compare(ours, theirs):
    if isinstance(theirs, dict):
        present = (
            {k for k in theirs if k.startswith("_") or theirs[f"_{k}"].any()} if "_start" in theirs else set(theirs)
        )
        for key in present:
            compare(ours[key], theirs[key])
    elif isinstance(theirs, tuple):
        for a, b in zip(ours, theirs, strict=True):
            compare(a, b)
    elif theirs.dtype == object:
        for a, b in zip(ours, theirs, strict=True):
            if isinstance(b, dict):
                compare(a, b)
            else:
                assert a == b
    elif theirs.dtype == np.uint8:
        assert np.abs(ours.astype(int) - theirs.astype(int)).max() <= 1
    else:
        np.testing.assert_allclose(ours, theirs, atol=1e-3)
