"""The packaged Push-T simulator, as a user gets it."""

import subprocess
import sys
import warnings

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import simforcing_env
from simforcing_env.registration import WEIGHTS
from teachers.pusht.teacher import PushTTeacher

ID, TEACHER = "SimForcing/PushT-v0", "SimForcing/PushT-Teacher-v0"


def test_the_weights_are_in_the_package():
    for world in simforcing_env.WORLDS:
        assert (WEIGHTS / world.checkpoint / "model.safetensors").is_file()
    assert (WEIGHTS / "pusht-reader" / "model.safetensors").is_file()


def pushes(num_envs, n, starts, seed=0):
    """Targets that go from the pusher to the middle of the table and wander there: they touch the block."""
    rng = np.random.default_rng(seed)
    way = np.linspace(0, 1, n)[None, :, None]
    targets = starts[:, None] * (1 - way) + rng.uniform(180, 330, (num_envs, 1, 2)) * way
    return targets.clip(0, 512).astype(np.float32)


@pytest.mark.parametrize("chunk", [None, 4])
def test_gymnasiums_checker(chunk):
    env = gym.make(ID, chunk=chunk, render_mode="rgb_array")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*symmetric and normalized space")  # ours has the units of the world
        check_env(env.unwrapped)


def test_spaces_equal_the_teachers():
    ours, theirs = gym.make_vec(ID, num_envs=2, chunk=4), gym.make_vec(TEACHER, num_envs=2, chunk=4)
    assert ours.observation_space == theirs.observation_space
    assert ours.action_space == theirs.action_space
    for env in (ours, theirs):
        env.reset(seed=0)
    action = pushes(2, 4, np.full((2, 2), 256.0))
    mine, true = (env.step(action)[4] for env in (ours, theirs))
    assert set(mine) == set(true)
    assert {k: v.shape for k, v in mine.items() if k != "labels"} == {
        k: v.shape for k, v in true.items() if k != "labels"
    }
    assert mine["labels"].keys() == true["labels"].keys()


def test_shipped_starts_are_the_teachers():
    env = gym.make_vec(ID, num_envs=8)
    observation, info = env.reset(seed=0)
    teacher = PushTTeacher()
    for row, name in enumerate(info["start"]):
        seen = teacher.reset(name)
        np.testing.assert_array_equal(observation["image"][row], seen.frames["top"])
        np.testing.assert_allclose(observation["proprio"][row], seen.proprio, atol=1e-3)
    assert len(env.backend.starts) >= 8
    observation, _ = env.reset(options={"start": "seed-812345"})  # not shipped, made by the teacher
    np.testing.assert_array_equal(observation["image"][0], teacher.reset("seed-812345").frames["top"])
    env.backend._teacher = None
    again, _ = env.reset(options={"start": "seed-812345"})  # it is made once
    np.testing.assert_array_equal(again["image"], observation["image"])
    assert env.backend._teacher is None


@pytest.mark.parametrize("precision", ["auto", "float32"])
def test_eight_episodes_equal_eight_singles_for_sixteen_frames(precision):
    together = gym.make_vec(ID, num_envs=8, chunk=16, precision=precision, success_threshold=1.0)
    observation, _ = together.reset(seed=70)
    actions = pushes(8, 16, observation["proprio"])
    *_, info = together.step(actions)
    alone = gym.make_vec(ID, num_envs=1, chunk=16, precision=precision, success_threshold=1.0)
    for row in range(8):
        alone.reset(seed=70 + row)
        *_, single = alone.step(actions[row : row + 1])
        difference = np.abs(single["frames"][0].astype(int) - info["frames"][row].astype(int))
        assert difference.max() <= 1


def test_a_branch_equals_the_replay():
    env = gym.make(ID, success_threshold=1.0).unwrapped
    observation, _ = env.reset(seed=5)
    past = pushes(1, 6, observation["proprio"][None])[0]
    for action in past:
        observation, *_ = env.step(action)
    futures = pushes(8, 12, np.repeat(observation["proprio"][None], 8, 0), seed=1)
    *_, branched = env.branch(8, chunk=12).step(futures)
    for row in range(8):
        env.reset(seed=5)
        for action in past:
            env.step(action)
        *_, replay = env.branch(1, chunk=12).step(futures[row : row + 1])
        assert np.abs(replay["frames"][0].astype(int) - branched["frames"][row].astype(int)).max() <= 1
    assert len({clip.tobytes() for clip in branched["frames"]}) == 8


def test_the_seed_matters_and_nothing_else_does_also_in_another_process(root):
    code = (
        "import hashlib, sys, gymnasium as gym, numpy as np\n"
        f"env = gym.make_vec('simforcing_env:{ID}', num_envs=3, chunk=8, success_threshold=1.0)\n"
        "env.reset(seed=[4, 5, 4], options={'start': 'near-3'})\n"
        "actions = np.full((3, 8, 2), 256, np.float32) + np.arange(8, dtype=np.float32)[None, :, None]\n"
        "frames = env.step(actions)[4]['frames']\n"
        "print(*(hashlib.sha256(clip.tobytes()).hexdigest() for clip in frames))"
    )
    printed = [subprocess.check_output([sys.executable, "-c", code], text=True, cwd=root, timeout=120) for _ in "ab"]
    first, other, again = printed[0].split()
    assert first == again != other
    assert printed[0] == printed[1]


def test_the_pusher_follows_its_targets():
    env = gym.make_vec(ID, num_envs=8, chunk=16, success_threshold=1.0)
    truth = gym.make_vec(TEACHER, num_envs=8, chunk=16, success_threshold=1.0)
    observation, info = env.reset(seed=0)
    truth.reset(options={"start": info["start"].tolist()})
    actions = pushes(8, 16, observation["proprio"])
    mine, true = (each.step(actions)[4]["proprio"][:, -1] for each in (env, truth))
    assert np.linalg.norm(mine - true, axis=1).mean() < 10


def test_first_reset_in_a_fresh_process(root):
    """It is ready without a simulator or anything of training; `bench env` says how soon."""
    heavy = ("gym_pusht", "pymunk", "mujoco", "accelerate", "diffusers", "scipy", "matplotlib")
    code = (
        f"import sys, simforcing_env, gymnasium as gym; image = gym.make({ID!r}).reset(seed=0)[0]['image']; "
        f"print(image.shape, [name for name in {heavy} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=root, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "(64, 64, 3) []"
