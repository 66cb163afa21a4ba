"""The diffusion policy: what it learns, that its noise belongs to episodes, that it survives a kill and a save."""

import numpy as np
import pytest
import torch

from simforcing_env.adapters.lerobot import policy_batch
from simforcing_env.policies.denoiser import ActionDenoiser, DenoiserConfig
from simforcing_env.policies.diffusion import load_diffusion, new_policy
from simforcing_env.policies.diffusion_data import Choice, Moments, demonstrated_moments, mirrored, recorded_moments
from simforcing_env.policies.diffusion_training import PolicyTrainer, PolicyTraining
from simforcing_env.policies.eyes import points_of
from simforcing_env.policies.lerobot_form import LeRobotForm
from simforcing_env.policies.policy import Task
from simforcing_env.policies.registry import make_policy
from simforcing_env.teacher_env import TeacherVectorEnv
from teachers.pusht.contract import pusht_contract
from tests.simforcing_env.planning.untrained import small_policy
from world_model.errors import ContractError, DataError, InputError
from world_model.runtime import Runtime


def observation(count=2, seed=0):
    env = TeacherVectorEnv(count, teacher="pusht")
    return env.reset(seed=seed, options={"start": [f"seed-{i}" for i in range(count)]})[0]


def test_chunks_are_relative_to_the_hand_and_back():
    net = ActionDenoiser(DenoiserConfig(horizon=3))
    net.mean.copy_(torch.full((3, 2), 0.1))
    net.spread.copy_(torch.full((3, 2), 0.5))
    sight, actions = torch.zeros(1, 8), torch.full((1, 3, 2), 0.35)
    sight[:, :2] = 0.15
    chunks = net.relative(actions, sight)
    torch.testing.assert_close(chunks, torch.full((1, 3, 2), 0.2))  # (0.35 - 0.15 - 0.1) / 0.5
    torch.testing.assert_close(net.absolute(chunks, sight), actions)


@pytest.mark.parametrize("prediction", ["v_prediction", "sample"])
def test_it_learns_two_ways_at_once(prediction):
    """From one place half of the demonstrations go left and half right: samples do one or the other."""
    generator = torch.Generator().manual_seed(0)
    net = ActionDenoiser(DenoiserConfig(horizon=2, width=48, layers=2, prediction=prediction, sample_steps=10))
    net.spread.fill_(0.5)
    sight = torch.zeros(128, 8)
    side = torch.where(torch.arange(128) % 2 == 0, 0.5, -0.5)
    actions = side[:, None, None].expand(-1, 2, 2).contiguous()
    optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
    for _ in range(250):
        loss = net.loss(actions, sight, generator)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    made = net.sample(sight, torch.randn(128, 2, 2, generator=generator))
    assert (made.abs() - 0.5).abs().median() < 0.12
    assert 0.1 < (made[:, 0, 0] > 0).float().mean() < 0.9


def test_noise_belongs_to_the_episode():
    policy, seen = small_policy(), observation(3)
    policy.reset([5, 6, 7], [Task()] * 3)
    together = policy.act(seen)
    policy.reset([6], [Task()])
    alone = policy.act({key: value[1:2] for key, value in seen.items()})
    np.testing.assert_allclose(together[1:2], alone, atol=1e-3)  # px
    policy.reset([5, 6, 7])
    first = policy.sample(seen, 4)
    np.testing.assert_allclose(first[:, 0], together, atol=1e-3)  # the first proposal is the policy's own choice
    assert np.ptp(first[0, :, 0, 0]) > 1
    assert first.shape == (3, 4, 8, 2)
    assert first.min() >= 0
    assert first.max() <= 512
    with pytest.raises(InputError, match="began 3 episodes but was shown 2"):
        policy.act({key: value[:2] for key, value in seen.items()})


@pytest.mark.parametrize("pixels", [False, True])
def test_a_saved_policy_does_the_same(tmp_path, pixels):
    policy, seen = small_policy(pixels), observation()
    policy.save(tmp_path / "it")
    again = load_diffusion(tmp_path / "it", policy.contract)
    for one in (policy, again):
        one.reset([1, 2])
    np.testing.assert_array_equal(policy.act(seen), again.act(seen))
    by_name = make_policy(f"diffusion:{tmp_path / 'it'}", policy.contract)
    assert (by_name.hash, by_name.horizon) == (again.hash, 8)
    with pytest.raises(ContractError, match="height"):
        load_diffusion(tmp_path / "it", pusht_contract(96))


def test_another_precision_is_another_policy(tmp_path):
    small_policy().save(tmp_path / "it")
    plain, quick = (load_diffusion(tmp_path / "it", runtime=runtime) for runtime in (None, Runtime("cpu", "bfloat16")))
    few = load_diffusion(tmp_path / "it", steps=1)
    assert len({plain.hash, quick.hash, few.hash}) == 3
    seen = observation()
    for one in (plain, quick):
        one.reset([1, 2])
    apart = np.abs(plain.act(seen) - quick.act(seen)).max()
    assert 0 < apart < 4  # px


def test_it_answers_lerobot(tmp_path):
    policy = small_policy()
    env = TeacherVectorEnv(2, teacher="pusht", observation_keys="lerobot")
    seen, _ = env.reset(seed=0, options={"start": ["seed-1", "seed-2"]})
    form = LeRobotForm(policy, execute=2)
    form.reset()
    taken = [form.select_action(policy_batch(seen)).numpy() for _ in range(3)]
    policy.reset([0, 1])
    plain = {"image": seen["observation.images.top"], "proprio": seen["observation.state"]}
    first, second = policy.act(plain), policy.act(plain)
    np.testing.assert_allclose(taken, [first[:, 0], first[:, 1], second[:, 0]], atol=1e-3)


def test_moments_are_what_followed():
    actions = torch.arange(5.0)[:, None].expand(-1, 2)
    one = Moments(torch.zeros(5, 2), actions, torch.arange(5), torch.full((5,), 4))
    both = Moments.join([one, one])
    chunks = both.chunks(torch.tensor([0, 3, 8]), 3)[..., 0]
    assert chunks.tolist() == [[0, 1, 2], [3, 4, 4], [3, 4, 4]]  # the end of an episode is held


def test_the_mirror_keeps_the_goal_and_turns_back():
    goal = np.array([[256.0, 256.0, np.pi / 4]])
    at_goal = Moments(torch.zeros(1, 2), torch.zeros(1, 2), torch.tensor([0]), torch.tensor([0]))
    at_goal = Moments(**{**vars(at_goal), "points": torch.from_numpy(points_of(goal))})
    torch.testing.assert_close(mirrored(at_goal).points, at_goal.points, atol=1e-5, rtol=0)
    pose = np.array([[120.0, 330.0, 0.7]])
    there = Moments(torch.tensor([[0.2, -0.4]]), torch.rand(1, 2), torch.tensor([0]), torch.tensor([0]))
    there = Moments(**{**vars(there), "points": torch.from_numpy(points_of(pose))})
    # By hand: (x, y) becomes (512 - y, 512 - x), and the angle pi/2 less the old one.
    wanted = points_of(np.array([[512 - 330.0, 512 - 120.0, np.pi / 2 - 0.7]]))
    torch.testing.assert_close(mirrored(there).points, torch.from_numpy(wanted), atol=1e-5, rtol=0)
    torch.testing.assert_close(mirrored(there).proprio, torch.tensor([[0.4, -0.2]]))
    torch.testing.assert_close(mirrored(mirrored(there)).actions, there.actions)


def test_human_demonstrations_are_read(shared_data):
    folder = shared_data / "pusht_human" / "pusht_cchi_v7_ep000-044.zarr"
    moments = demonstrated_moments(folder, pusht_contract(), 16)
    assert len(moments) > 4000
    assert moments.points is not None
    assert moments.points.shape == (len(moments), 6)
    away = (moments.chunks(torch.arange(len(moments)), 1)[:, 0] - moments.proprio).abs().mean()
    assert away < 0.1  # targets are near the hand


def trainer(out, moments, keep=(0.5,), **settings):
    policy = new_policy(pusht_contract(), horizon=4, width=16, layers=1)
    return PolicyTrainer(policy, moments, PolicyTraining(batch=8, keep=keep, **settings), out, seed=0)


def test_a_killed_training_goes_on_to_the_same_end(tmp_path):
    generator = torch.Generator().manual_seed(0)
    actions = torch.rand(40, 2, generator=generator) - 0.5
    moments = Moments(actions * 0.5, actions, torch.arange(40), torch.full((40,), 39), torch.rand(40, 6))
    whole = trainer(tmp_path / "whole", moments, steps=8).run()
    first = trainer(tmp_path / "parts", moments, steps=8)
    for _ in range(3):
        first._train_step(first._part())
    first._save()
    second = trainer(tmp_path / "parts", moments, steps=8)
    assert second.step == 3
    again = second.run()
    for one, two in zip(whole.net.parameters(), again.net.parameters(), strict=True):
        torch.testing.assert_close(one, two)
    assert load_diffusion(tmp_path / "parts" / "checkpoint-050").horizon == 4
    with pytest.raises(DataError, match="another --out"):
        trainer(tmp_path / "parts", moments, steps=9)


def test_recorded_moments_end_before_the_recording_does(tmp_path):
    from teachers.collection import Job, collect
    from world_model.data.lerobot.reader import read_dataset

    options = {"behaviours": ("careful",)}
    collect(Job("pusht", "train", 0, None, options, 2, 2), tmp_path / "data", 1, lambda done, total: None)
    data = read_dataset(tmp_path / "data")
    moments = recorded_moments(data, 10, points_of=lambda states, names: points_of(states))
    solved = [bool(data.columns(i)["next.success"].max() > 0.5) for i in range(2)]
    wanted = sum(int(n) - 1 - (0 if s else 9) for n, s in zip(data.lengths, solved, strict=True))
    assert len(moments) == wanted
    pictures = recorded_moments(data, 10)
    assert pictures.frames is not None
    assert pictures.frames.shape[1:] == (64, 64, 3)
    with pytest.raises(DataError, match="other behaviours"):
        recorded_moments(data, 10, Choice(("push",)))
