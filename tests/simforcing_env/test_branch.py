"""Snapshots, restores and branches."""

import subprocess
import sys

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from simforcing_env.snapshot import Snapshot
from tests.world_model.tiny import tiny_simulator
from world_model.errors import ContractError, DataError, InputError


def chunks(count, num_envs, n, seed=0):
    return np.random.default_rng(seed).uniform(0, 70, (count, num_envs, n, 2)).astype(np.float32)


def equal(a, b):
    """Two outcomes of step are the same to the bit."""
    for key in a[0]:
        np.testing.assert_array_equal(a[0][key], b[0][key])
    for x, y in zip(a[1:4], b[1:4], strict=True):
        np.testing.assert_array_equal(x, y)
    np.testing.assert_array_equal(a[4]["start"], b[4]["start"])
    np.testing.assert_array_equal(a[4]["episode_seed"], b[4]["episode_seed"])


def test_restore_repeats_what_came_after(make_vector):
    """Also over ends of episodes: the streams that draw new seeds are part of the moment."""
    env = make_vector(3, chunk=2, max_episode_steps=3)
    env.reset(seed=5)
    actions = chunks(8, 3, 2)
    env.step(actions[0])
    moment = env.snapshot()
    first = [env.step(a) for a in actions]
    observation, info = env.restore(moment)
    again = [env.step(a) for a in actions]
    for a, b in zip(first, again, strict=True):
        equal(a, b)
    assert info["brightness"].shape == (3,)
    other = make_vector(3, chunk=2, max_episode_steps=3)  # never reset
    restored, info_other = other.restore(moment)
    np.testing.assert_array_equal(restored["image"], observation["image"])
    np.testing.assert_array_equal(info_other["start"], info["start"])
    for a, b in zip(first, [other.step(a) for a in actions], strict=True):
        equal(a, b)


CHILD = """
import sys
import numpy as np
from simforcing_env import Snapshot, WorldModelVectorEnv
from tests.world_model.tiny import tiny_simulator

env = WorldModelVectorEnv(2, checkpoint=tiny_simulator(), chunk=2)
env.restore(Snapshot.from_bytes(sys.stdin.buffer.read()))
actions = np.random.default_rng(3).uniform(0, 70, (2, 2, 2)).astype(np.float32)
sys.stdout.buffer.write(env.step(actions)[0]["image"].tobytes())
"""


def test_bytes_go_to_another_process(make_vector, root):
    env = make_vector(2, chunk=2)
    env.reset(seed=1)
    env.step(chunks(1, 2, 2)[0])
    data = env.snapshot().to_bytes()
    there = subprocess.run([sys.executable, "-c", CHILD], input=data, capture_output=True, cwd=root, timeout=60)
    assert there.returncode == 0, there.stderr.decode()
    actions = np.random.default_rng(3).uniform(0, 70, (2, 2, 2)).astype(np.float32)
    assert env.step(actions)[0]["image"].tobytes() == there.stdout


def test_bytes_hold_no_pickle_and_repeat(make_vector):
    env = make_vector(2)
    env.reset(seed=1)
    data = env.snapshot().to_bytes()
    assert data == Snapshot.from_bytes(data).to_bytes()
    assert b"numpy.core" not in data
    assert b"numpy._core" not in data


def test_damaged_and_foreign_snapshots_are_refused(make_vector):
    env = make_vector(2)
    env.reset(seed=1)
    snapshot = env.snapshot()
    data = snapshot.to_bytes()
    for broken in (b"", b"nonsense", data[: len(data) // 2], data[:-40]):
        with pytest.raises(DataError, match="not a whole snapshot"):
            Snapshot.from_bytes(broken)
    with pytest.raises(ContractError, match="num_envs 2 but this environment has 3"):
        make_vector(3).restore(snapshot)
    with pytest.raises(ContractError, match="history 3 but this environment has 2"):
        make_vector(2, history=2).restore(snapshot)
    with pytest.raises(ContractError, match="sampler_steps"):
        make_vector(2, sampler_steps=1).restore(snapshot)
    other = tiny_simulator()
    other.hash = "another"
    with pytest.raises(ContractError, match="checkpoint 'unsaved' but this environment has 'another'"):
        make_vector(2, checkpoint=other).restore(snapshot)
    with pytest.raises(ContractError, match="contract"):
        make_vector(2, checkpoint=tiny_simulator(actions_per_frame=2)).restore(snapshot)
    with pytest.raises(gym.error.ResetNeeded):
        make_vector(2).snapshot()


def test_a_branch_equals_the_replay(make_vector):
    env = make_vector(2, chunk=2)
    env.reset(seed=[3, 8], options={"start": ["left", "right"]})
    past = chunks(3, 2, 2)
    for actions in past:
        env.step(actions)
    futures = chunks(2, 5, 2, seed=9)
    copies = env.branch(5, index=1)
    branched = [copies.step(actions) for actions in futures]
    for k in range(5):
        replay = make_vector(1, chunk=2)
        replay.reset(seed=8, options={"start": "right"})
        for actions in past:
            replay.step(actions[1:])
        for actions, (image, *_, info) in zip(futures, branched, strict=True):
            seen, *_, alone = replay.step(actions[k : k + 1])
            assert np.abs(seen["image"][0].astype(int) - image["image"][k].astype(int)).max() <= 1
            np.testing.assert_allclose(alone["rewards"][0], info["rewards"][k], atol=1e-5)


def test_branches_share_noise_or_not(make_vector):
    env = make_vector(1, chunk=2)
    env.reset(seed=0)
    env.step(chunks(1, 1, 2)[0])
    same = np.repeat(chunks(1, 1, 2)[0], 4, 0)
    shared = env.branch(4).step(same)[0]["image"]
    assert all((shared[0] == image).all() for image in shared)
    apart = env.branch(4, share_noise=False).step(same)[0]["image"]
    assert len({image.tobytes() for image in apart}) == 4
    np.testing.assert_array_equal(apart, env.branch(4, share_noise=False).step(same)[0]["image"])


def test_branches_leave_the_original_alone(make_vector):
    env, control = make_vector(2, chunk=2), make_vector(2, chunk=2)
    actions = chunks(3, 2, 2)
    for each in (env, control):
        each.reset(seed=0)
        each.step(actions[0])
    copies = env.branch(3, index=0)
    copies.step(chunks(1, 3, 2, seed=4)[0])
    copies.close()
    equal(env.step(actions[1]), control.step(actions[1]))


def test_copies_carry_the_episode(make_vector):
    env = make_vector(2, chunk=2, max_episode_steps=3)
    _, info = env.reset(seed=0, options={"start": "left"})
    env.step(chunks(1, 2, 2)[0])
    copies = env.branch(4, index=1, chunk=5)
    assert copies.metadata["autoreset_mode"] is AutoresetMode.DISABLED
    assert copies.action_space.shape == (4, 5, 2)
    *_, truncated, later = copies.step(np.full((4, 5, 2), 30, np.float32))
    assert later["episode_seed"].tolist() == [info["episode_seed"][1]] * 4
    assert later["start"].tolist() == ["left"] * 4
    assert not truncated.any()
    assert copies.step(np.full((4, 5, 2), 30, np.float32))[3].all()  # one step was taken before the branch
    again = copies.branch(2, index=3)  # branches branch
    assert again.step(np.full((2, 5, 2), 30, np.float32))[3].all()


def test_an_ended_copy_rests_while_the_others_go_on(make_vector):
    env = make_vector(1, chunk=2)
    env.reset(seed=0)
    copies = env.branch(2)
    actions = np.full((2, 2, 2), 30, np.float32)
    actions[1] = 90
    copies.step(actions)
    _, rewards, terminated, _, info = copies.step(actions)
    assert terminated.tolist() == [False, True]
    assert info["frames_valid"].tolist() == [2, 0]
    assert rewards[1] == 0


def test_branch_arguments_are_checked(make_vector):
    env = make_vector(2)
    with pytest.raises(gym.error.ResetNeeded):
        env.branch(2)
    env.reset(seed=0)
    with pytest.raises(InputError, match="index is 2"):
        env.branch(2, index=2)
    with pytest.raises(InputError, match="count is 0"):
        env.branch(0)


def test_the_single_form(make_single):
    env = make_single(chunk=2)
    env.reset(seed=2)
    actions = chunks(3, 1, 2)[:, 0]
    env.step(actions[0])
    moment = Snapshot.from_bytes(env.snapshot().to_bytes())
    first = env.step(actions[1])
    observation, info = env.restore(moment)
    assert observation in env.observation_space
    assert info["start"] in {"left", "middle", "right"}
    second = env.step(actions[1])
    np.testing.assert_array_equal(first[0]["image"], second[0]["image"])
    env.restore(moment)
    copies = env.branch(3, share_noise=True)
    images = copies.step(np.repeat(actions[1:2], 3, 0))[0]["image"]
    assert np.abs(images.astype(int) - second[0]["image"].astype(int)).max() <= 1
