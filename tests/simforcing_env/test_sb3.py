"""Stable-Baselines3 over the batched environment."""

import gymnasium as gym
import numpy as np
import pytest

pytest.importorskip("stable_baselines3")

import torch
from stable_baselines3 import PPO
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from stable_baselines3.common.vec_env import VecMonitor

from simforcing_env.adapters.sb3 import Sb3VecEnv
from world_model.errors import InputError


class Flat(BaseFeaturesExtractor):
    """Everything in one row: SB3's convolutions want pictures of 36 pixels and more."""

    def __init__(self, observation_space):
        super().__init__(observation_space, sum(int(np.prod(space.shape)) for space in observation_space.values()))

    def forward(self, observations):
        return torch.cat([value.flatten(1) for value in observations.values()], 1)


@pytest.fixture
def make_sb3(make_vector):
    def make(num_envs=2, **options):
        return Sb3VecEnv(make_vector(num_envs, autoreset_mode="SameStep", **options))

    return make


def targets(*xs):
    return np.array([[x, 50] for x in xs], np.float32)


def test_what_sb3_sees(make_sb3):
    env = make_sb3(max_episode_steps=3)
    env.seed(3)
    observation = env.reset()
    assert [info["episode_seed"] for info in env.reset_infos] == [3, 4]
    assert observation["image"].shape == (2, 16, 16, 3)
    observation, rewards, dones, infos = env.step(targets(10, 90))
    assert rewards.dtype == np.float32
    assert dones.tolist() == [False, True]
    np.testing.assert_allclose(rewards, [0.1, 0.9], atol=1e-4)
    assert "terminal_observation" not in infos[0]
    np.testing.assert_allclose(infos[1]["terminal_observation"]["proprio"], [90, 50], atol=1e-3)
    assert infos[1]["TimeLimit.truncated"] is False
    assert infos[1]["is_success"] is True
    assert infos[1]["episode_seed"] == 4
    assert env.reset_infos[1]["episode_seed"] != 4
    assert observation["proprio"][1, 0] in (10, 50, 70)  # already the next episode's start
    for _ in range(2):
        _, _, dones, infos = env.step(targets(10, 10))
    assert dones.tolist() == [True, False]
    assert infos[0]["TimeLimit.truncated"] is True


def test_one_step_is_one_model_call(make_sb3):
    env = make_sb3(4)
    env.reset()
    calls = []
    advance = env.env.backend.rollout.advance
    env.env.backend.rollout.advance = lambda *a: calls.append(1) or advance(*a)
    env.step(targets(10, 20, 30, 40))
    assert calls == [1]


def test_options_reach_the_environment(make_sb3):
    env = make_sb3()
    env.set_options([{"start": "left"}, {"start": "right"}])
    env.reset()
    assert [info["start"] for info in env.reset_infos] == ["left", "right"]
    picture = np.full((16, 16, 3), 9, np.uint8)
    env.set_options({"image": picture, "proprio": np.array([1.0, 2.0])})
    assert (env.reset()["image"] == 9).all()
    env.set_options([{"start": "left"}, {}])
    with pytest.raises(InputError, match="for some environments only"):
        env.reset()


def test_other_modes_are_refused(make_vector):
    with pytest.raises(InputError, match="SAME_STEP"):
        Sb3VecEnv(make_vector(2))


def test_attributes_are_the_batchs(make_sb3):
    env = make_sb3(render_mode="rgb_array")
    assert env.render_mode == "rgb_array"
    assert env.get_attr("frames_per_step") == [1, 1]
    assert env.env_is_wrapped(gym.Wrapper) == [False, False]
    env.reset()
    assert env.render().size == 2 * 16 * 16 * 3
    with pytest.raises(InputError, match="set it on the vector environment"):
        env.set_attr("x", 1)
    with pytest.raises(InputError, match=r"call it on `\.env`"):
        env.env_method("snapshot")
    env.close()


def test_ppo_learns_from_chunks(make_vector):
    """PPO as it is, over Gymnasium's own rescaling of actions to [-1, 1]."""
    env = gym.wrappers.vector.RescaleAction(
        make_vector(4, autoreset_mode="SameStep", chunk=2, max_episode_steps=4),
        np.full((2, 2), -1, np.float32),
        np.full((2, 2), 1, np.float32),
    )
    venv = VecMonitor(Sb3VecEnv(env))
    spaces = {"features_extractor_class": Flat}
    agent = PPO("MultiInputPolicy", venv, n_steps=8, batch_size=16, n_epochs=1, policy_kwargs=spaces, seed=0)
    before = [p.clone() for p in agent.policy.parameters()]
    agent.learn(64)
    assert any((a != b).any() for a, b in zip(before, agent.policy.parameters(), strict=True))
    assert len(agent.ep_info_buffer) > 0


@pytest.mark.parametrize("value", [None, 5, "PushT", gym.Env()])
def test_only_vector_environments(value):
    with pytest.raises(InputError, match="must be a vector environment"):
        Sb3VecEnv(value)


@pytest.mark.parametrize("seed", ["3", 1.5, -1, True])
def test_bad_seeds(make_sb3, seed):
    with pytest.raises(InputError, match="seed is"):
        make_sb3().seed(seed)


@pytest.mark.parametrize(
    "options",
    [
        "left",
        [{"start": "left"}],
        [None, None],
        [{"start": "left"}, {"start": 5}],
        [{"image": np.zeros((16, 16, 3), np.uint8), "proprio": [0, 0]}, {"image": np.zeros(3), "proprio": [0, 0]}],
        {"image": np.zeros((16, 16, 3), np.uint8), "proprio": "far"},
    ],
)
def test_bad_reset_options(make_sb3, options):
    env = make_sb3()
    env.set_options(options)
    with pytest.raises(InputError, match=r"reset option|image"):
        env.reset()
