"""LIBERO and robosuite under Gymnasium's interface."""

import gymnasium as gym
import numpy as np
import pytest

import simforcing_env  # noqa: F401
from world_model.errors import InputError
from world_model.extras import absent

pytestmark = pytest.mark.skipif(bool(absent("libero")), reason="LIBERO is not installed: pip install '.[libero]'")
LIBERO = "SimForcing/Libero-Teacher-v0"


def test_one_episode_and_its_branches(drawing):
    env = gym.make(LIBERO, suite="libero_goal", task=8, size=32, look="fast", frames_in_info=False)
    observation, _ = env.reset(seed=0)
    assert env.observation_space.contains(observation)
    assert observation["image_agentview"].shape == observation["image_wrist"].shape == (32, 32, 3)
    assert env.action_space.shape == (4, 7)
    assert env.spec.max_episode_steps == 150
    action = np.random.default_rng(0).uniform(-1, 1, (4, 7)).astype(np.float32)
    env.step(action)
    saved = env.unwrapped.snapshot()
    expected = env.step(action)
    branches = env.unwrapped.branch(2)
    env.unwrapped.restore(saved)
    found = env.step(action)
    for key in observation:
        assert np.array_equal(found[0][key], expected[0][key])
    assert (found[1], found[2]) == (expected[1], expected[2]) == (0.0, False)
    assert branches.num_envs == 2
    env.close()


def test_slots_do_not_disturb_each_other(drawing):
    starts = ["libero_goal/8/1", "libero_goal/8/2"]
    options = dict(suite="libero_goal", starts=starts, size=32, cameras=("agentview",), look="fast")
    actions = np.random.default_rng(0).uniform(-1, 1, (2, 2, 4, 7)).astype(np.float32)
    both = gym.make_vec(LIBERO, num_envs=2, **options)
    both.reset(options={"start": starts})
    for action in actions:
        together = both.step(action)[0]
    for slot, start in enumerate(starts):
        alone = gym.make_vec(LIBERO, num_envs=1, **options)
        alone.reset(options={"start": start})
        for action in actions:
            seen = alone.step(action[slot : slot + 1])[0]
        assert np.array_equal(seen["image"][0], together["image"][slot])
        assert np.array_equal(seen["proprio"][0], together["proprio"][slot])
    assert not np.array_equal(together["image"][0], together["image"][1])


def test_robosuite(drawing):
    env = gym.make("SimForcing/Robosuite-Teacher-v0", task="Lift", size=32, cameras=("wrist",))
    observation, _ = env.reset(seed=3)
    assert env.observation_space.contains(observation)
    assert env.step(env.action_space.sample())[0]["image"].shape == (32, 32, 3)
    env.close()


def test_mistakes():
    with pytest.raises(InputError, match="there is no LIBERO suite 'libero_chess'"):
        gym.make(LIBERO, suite="libero_chess")
    with pytest.raises(InputError, match="libero_goal has no task 12; its tasks are numbered 0 to 9"):
        gym.make(LIBERO, task=12)
    with pytest.raises(InputError, match=r"option 'sise' is unknown; the options are suite, cameras, size"):
        gym.make(LIBERO, sise=64)


@pytest.mark.parametrize("value", [1.5, True, b"x", 1j, {"a": 1}, object(), np.zeros((2, 2)), [], 10**30, "a"])
@pytest.mark.parametrize("name", ["suite", "task", "cameras", "size", "frame_hz", "look", "starts", "chunk"])
def test_wrong_values(name, value):
    for world in (LIBERO, "SimForcing/Robosuite-Teacher-v0"):
        with pytest.raises(InputError, match=name):
            gym.make(world, **{name: value})
