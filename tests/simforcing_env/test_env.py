"""The single form under Gymnasium's own checkers."""

import hashlib
import subprocess
import sys
import warnings

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from tests.world_model.tiny import SIZE, tiny_simulator
from world_model.errors import InputError


@pytest.fixture
def tiny_id():
    """The tiny world, registered as a real one is."""
    name = "Tiny/World-v0"
    gym.register(
        name,
        entry_point="simforcing_env.env:WorldModelEnv",
        vector_entry_point="simforcing_env.vector_env:WorldModelVectorEnv",
        max_episode_steps=5,
        kwargs={"checkpoint": tiny_simulator()},
    )
    yield name
    del gym.registry[name]


@pytest.mark.parametrize("chunk", [None, 3])
@pytest.mark.parametrize("render_mode", ["rgb_array", "rgb_array_list"])
def test_gymnasiums_checker(tiny_id, chunk, render_mode):
    env = gym.make(tiny_id, chunk=chunk, render_mode=render_mode)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*symmetric and normalized space")  # ours has the units of the world
        check_env(env.unwrapped)


def test_make_and_make_vec_agree(tiny_id):
    single, vector = gym.make(tiny_id, chunk=2), gym.make_vec(tiny_id, num_envs=2, chunk=2)
    assert vector.num_envs == 2
    assert vector.single_observation_space == single.observation_space
    assert vector.single_action_space == single.action_space
    first, info = single.reset(seed=11)
    batch, infos = vector.reset(seed=10)
    np.testing.assert_array_equal(first["image"], batch["image"][1])
    assert info["start"] == infos["start"][1]
    assert info["episode_seed"] == 11
    action = np.full((2, 2), 40, np.float32)
    for step in range(1, 6):
        seen, reward, terminated, truncated, info = single.step(action)
        batch, rewards, _, truncations, infos = vector.step(np.stack([action, action]))
        assert np.abs(seen["image"].astype(int) - batch["image"][1].astype(int)).max() <= 1
        assert reward == pytest.approx(rewards[1], abs=1e-5)
        assert truncated == truncations[1] == (step == 5)
        assert set(info) == {key for key in infos if not key.startswith("_")}
    assert isinstance(reward, float)
    assert isinstance(terminated, bool)


CHILD = """
import hashlib
import numpy as np
from simforcing_env import WorldModelEnv
from tests.world_model.tiny import tiny_simulator

env = WorldModelEnv(checkpoint=tiny_simulator(), chunk=4)
env.reset(seed=12)
for chunk in np.random.default_rng(0).uniform(0, 70, (3, 4, 2)).astype(np.float32):
    image = env.step(chunk)[0]["image"]
print(hashlib.sha256(image.tobytes()).hexdigest())
"""


def test_the_same_seed_is_the_same_episode_in_every_process(make_single, root):
    done = subprocess.run([sys.executable, "-c", CHILD], capture_output=True, text=True, cwd=root, timeout=60)
    env = make_single(chunk=4)
    env.reset(seed=12)
    for chunk in np.random.default_rng(0).uniform(0, 70, (3, 4, 2)).astype(np.float32):
        image = env.step(chunk)[0]["image"]
    assert done.stdout.strip() == hashlib.sha256(image.tobytes()).hexdigest(), done.stderr


def test_infos_of_one_environment(make_single):
    env = make_single(chunk=2)
    env.reset(seed=0)
    *_, info = env.step(np.full((2, 2), 40, np.float32))
    assert info["frames"].shape == (2, SIZE, SIZE, 3)
    assert info["rewards"].shape == info["success"].shape == info["uncertainty"].shape == (2,)
    assert info["labels"]["brightness"].shape == (2,)
    assert info["frames_valid"] == 2
    assert not info["is_success"]


def test_render(make_single):
    env = make_single(render_mode="rgb_array", render_scale=4)
    env.reset(seed=0)
    assert env.render().shape == (4 * SIZE, 4 * SIZE, 3)
    env = make_single(chunk=3, render_mode="rgb_array_list")
    env.reset(seed=0)
    env.step(np.full((3, 2), 40, np.float32))
    assert len(env.render()) == 4
    assert env.render() == []
    env = make_single()
    env.reset(seed=0)
    with pytest.warns(UserWarning, match="render_mode"):
        assert env.render() is None


def test_bad_input(make_single):
    env = make_single()
    with pytest.raises(InputError, match="reset_mask"):
        env.reset(options={"reset_mask": np.ones(1, bool)})
    env.reset(seed=0)
    with pytest.raises(InputError, match="NaN"):
        env.step(np.array([np.nan, 1], np.float32))
    with pytest.raises(InputError, match="shape"):
        env.step(np.zeros(3, np.float32))
    with pytest.raises(InputError, match="outside"):
        env.step(np.array([0, 200], np.float32))
    env.close()
    env.close()


def test_an_ended_episode_stays_until_reset(make_single):
    env = make_single()
    env.reset(seed=0)
    ended, _, terminated, *_ = env.step(np.array([90, 50], np.float32))
    assert terminated
    after, reward, terminated, _, info = env.step(np.array([10, 50], np.float32))
    assert terminated
    assert reward == 0
    assert info["frames_valid"] == 0
    np.testing.assert_array_equal(after["image"], ended["image"])
    env.reset()
    assert not env.step(np.array([10, 50], np.float32))[2]


def test_a_refused_reset_leaves_the_episode_as_it_is(make_vector):
    envs, twin = make_vector(num_envs=2), make_vector(num_envs=2)
    for env in (envs, twin):
        env.reset(seed=1)
    with pytest.raises(InputError, match="nope"):
        envs.reset(seed=50, options={"start": "nope"})
    actions = np.full(envs.action_space.shape, 50, np.float32)
    (one, *_, first), (two, *_, second) = envs.step(actions), twin.step(actions)
    assert np.array_equal(first["episode_seed"], second["episode_seed"])
    assert np.array_equal(one["image"], two["image"])
