"""Other libraries' policies act in the environments through our protocol."""

import numpy as np
import pytest
import torch

from simforcing_env.policies.adapters import LeRobotAdapter, Sb3Adapter, adapt
from simforcing_env.policies.policy import Task, check_chunk
from simforcing_env.policies.registry import make_policy
from simforcing_env.teacher_env import TeacherVectorEnv
from teachers.pusht.contract import pusht_contract
from world_model.errors import InputError

CONTRACT = pusht_contract()
OBSERVATION = {
    "image": np.full((2, 64, 64, 3), 255, np.uint8),
    "proprio": np.array([[10, 20], [30, 600]], np.float32),
}


class Follow:
    """A LeRobot-style policy that goes where it is."""

    def reset(self):
        self.batches = []

    def select_action(self, batch):
        self.batches.append(batch)
        return batch["observation.state"]


def test_a_lerobot_policy_sees_its_keys_and_the_task_in_words():
    inner = Follow()
    policy = adapt(inner, CONTRACT, "follow", "v1")
    policy.reset([1, 2], [Task(0, "push it"), Task(0, "push it")])
    actions = policy.act(OBSERVATION)
    assert isinstance(policy, LeRobotAdapter)
    assert actions.tolist() == [[[10, 20]], [[30, 512]]]  # kept within the bounds
    (batch,) = inner.batches
    assert batch["observation.images.top"].shape == (2, 3, 64, 64)
    assert batch["observation.images.top"].max() == 1
    assert batch["task"] == ["push it", "push it"]


def test_an_sb3_model_acts_in_an_environment():
    stable_baselines3 = pytest.importorskip("stable_baselines3")
    env = TeacherVectorEnv(2, autoreset_mode="Disabled", max_episode_steps=5)
    from simforcing_env.adapters.sb3 import Sb3VecEnv

    same = TeacherVectorEnv(2, autoreset_mode="SameStep", max_episode_steps=5)
    torch.manual_seed(0)
    model = stable_baselines3.PPO("MultiInputPolicy", Sb3VecEnv(same), n_steps=4, batch_size=4, device="cpu")
    policy = adapt(model, CONTRACT, "ppo", "untrained")
    assert isinstance(policy, Sb3Adapter)
    observation, _ = env.reset(seed=3)
    policy.reset([3, 4], [Task()] * 2)
    chunk = check_chunk(policy, policy.act(observation), 2, 2)
    env.step(chunk[:, 0])
    wanted, _ = model.predict(observation, deterministic=True)
    np.testing.assert_allclose(chunk[:, 0], wanted, rtol=1e-6)


def test_what_is_no_policy_is_refused():
    with pytest.raises(InputError, match="is no policy; give it act"):
        adapt(3, CONTRACT, "three", "3")
    policy = Sb3Adapter(type("Odd", (), {"predict": lambda *a, **k: (np.zeros((2, 3)), None)})(), CONTRACT, "odd", "0")
    policy.reset([1, 2], [Task()] * 2)
    with pytest.raises(InputError, match="no chunk of 2 numbers an action"):
        policy.act(OBSERVATION)


def test_a_function_of_the_users_makes_a_policy():
    policy = make_policy(f"python:{__name__}:make", CONTRACT)
    assert policy.name == f"python:{__name__}:make"
    policy.reset([1, 2], [Task()] * 2)
    assert policy.act(OBSERVATION).shape == (2, 1, 2)


def make(contract):
    """For the test above."""
    assert contract == CONTRACT
    return Follow()
