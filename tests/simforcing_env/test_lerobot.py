"""LeRobot's observation keys and policies."""

import numpy as np
import torch

from simforcing_env.adapters.lerobot import policy_batch, select_action
from tests.world_model.tiny import tiny_simulator


class Mirror:
    """A policy in LeRobot's form: goes to the mirror image of where the robot is."""

    def reset(self):
        self.batches = []

    def select_action(self, batch):
        self.batches.append(batch)
        return 70 - batch["observation.state"]


def test_keys_and_spaces(make_vector, make_single):
    env = make_vector(2, observation_keys="lerobot", autoreset_mode="SameStep")
    observation, _ = env.reset(seed=0)
    assert set(observation) == {"observation.images.top", "observation.state"}
    assert observation in env.observation_space
    *_, info = env.step(np.array([[10, 50], [90, 50]], np.float32))
    assert set(info["final_obs"][1]) == set(observation)
    single = make_single(observation_keys="lerobot")
    assert single.reset(seed=0)[0] in single.observation_space


def test_a_policy_drives_the_environment(make_vector):
    env = make_vector(2, observation_keys="lerobot")
    observation, _ = env.reset(seed=0, options={"start": ["left", "right"]})
    policy = Mirror()
    policy.reset()
    observation, *_ = env.step(select_action(policy, observation))
    np.testing.assert_allclose(observation["observation.state"], [[60, 20], [0, 20]], atol=1e-3)
    image = policy.batches[0]["observation.images.top"]
    assert image.shape == (2, 3, 16, 16)
    expected = torch.from_numpy(tiny_simulator().starts.frames[[0, 2]]).permute(0, 3, 1, 2) / 255
    torch.testing.assert_close(image, expected)


def test_batches_are_floats():
    batch = policy_batch(
        {"observation.state": np.zeros((3, 2)), "observation.images.top": np.ones((3, 4, 5, 3), np.uint8)}
    )
    assert batch["observation.state"].dtype == torch.float32
    assert batch["observation.images.top"].shape == (3, 3, 4, 5)
