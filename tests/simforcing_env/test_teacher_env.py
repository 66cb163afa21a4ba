"""The Push-T teacher under the same spaces, infos and chunks."""

import warnings

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

import simforcing_env  # noqa: F401 (registers the ids)
from simforcing_env.teacher_env import TeacherEnv, TeacherVectorEnv
from teachers.pusht.teacher import PushTTeacher
from world_model.errors import InputError

ID = "SimForcing/PushT-Teacher-v0"


def paths(num_envs, n, seed=0):
    """Targets that wander from the middle of the table."""
    rng = np.random.default_rng(seed)
    return (256 + rng.uniform(-15, 15, (num_envs, n, 2)).cumsum(1)).clip(0, 512).astype(np.float32)


@pytest.mark.parametrize("chunk", [None, 4])
def test_gymnasiums_checker(chunk):
    env = gym.make(ID, chunk=chunk, render_mode="rgb_array")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*symmetric and normalized space")  # ours has the units of the world
        check_env(env.unwrapped)


def test_frames_rewards_and_labels_are_the_teachers():
    env = TeacherVectorEnv(2, chunk=3)
    env.reset(seed=0, options={"start": ["seed-5", "near-6"]})
    actions = paths(2, 3)
    observation, reward, *_, info = env.step(actions)
    for row, start in enumerate(("seed-5", "near-6")):
        teacher = PushTTeacher()
        teacher.reset(start)
        for frame in range(3):
            taken = teacher.step(actions[row, frame : frame + 1])
            np.testing.assert_array_equal(info["frames"][row, frame], taken.observation.frames["top"])
            np.testing.assert_allclose(info["proprio"][row, frame], taken.observation.proprio)
            assert info["rewards"][row, frame] == taken.labels["reward"]
            assert info["labels"]["coverage"][row, frame] == taken.labels["coverage"]
        np.testing.assert_array_equal(observation["image"][row], taken.observation.frames["top"])
        assert info["coverage"][row] == taken.labels["coverage"]
    np.testing.assert_allclose(reward, info["rewards"].sum(1))
    assert not info["uncertainty"].any()


def test_single_equals_a_slot_of_the_vector():
    single, vector = gym.make(ID, chunk=2), gym.make_vec(ID, num_envs=2, chunk=2)
    seen, info = single.reset(seed=8)
    batch, infos = vector.reset(seed=7)
    assert info["start"] == infos["start"][1]
    np.testing.assert_array_equal(seen["image"], batch["image"][1])
    actions = paths(2, 2)
    np.testing.assert_array_equal(single.step(actions[1])[0]["image"], vector.step(actions)[0]["image"][1])


def test_success_ends_a_chunk():
    """A start on the goal is a success already, so its first frame ends the episode."""
    start = next(f"near-{n}" for n in range(800_000, 801_000) if covers(f"near-{n}"))
    env = TeacherVectorEnv(1, chunk=3, autoreset_mode=AutoresetMode.DISABLED)
    observation, _ = env.reset(options={"start": start})
    rest = np.repeat(observation["proprio"][:, None], 3, 1)  # the pusher stays where it is
    observation, reward, terminated, _, info = env.step(rest)
    assert terminated[0]
    assert info["frames_valid"][0] == 1
    assert reward[0] == info["rewards"][0, 0] == 1
    np.testing.assert_array_equal(observation["image"][0], info["frames"][0, 0])


def covers(start):
    teacher = PushTTeacher()
    teacher.reset(start, render=False)
    return teacher.labels()["coverage"] > 0.96


def test_without_frames_only_observations_are_rendered():
    quick, full = TeacherVectorEnv(1, chunk=4, frames_in_info=False), TeacherVectorEnv(1, chunk=4)
    drawn = []
    teacher = quick.backend.teachers[0]
    draw = teacher.render
    teacher.render = lambda: drawn.append(1) or draw()
    for env in (quick, full):
        env.reset(seed=3)
    actions = paths(1, 4)
    drawn.clear()
    a, b = quick.step(actions), full.step(actions)
    np.testing.assert_array_equal(a[0]["image"], b[0]["image"])
    assert "frames" not in a[4]
    assert len(drawn) == 1


def test_starts_can_be_given():
    env = TeacherVectorEnv(16, starts=["seed-1", "near-2"])
    _, info = env.reset(seed=0)
    assert set(info["start"]) == {"seed-1", "near-2"}
    _, info = TeacherVectorEnv(16).reset(seed=0)
    assert all(0 <= int(name.removeprefix("seed-")) < 800_000 for name in info["start"])


def test_snapshot_and_branch_in_contact():
    """The start is beside the block, so pushes touch it; restored and branched futures are exact."""
    env = TeacherVectorEnv(2, chunk=4)
    env.reset(options={"start": ["near-11", "near-12"]})
    push = np.full((2, 4, 2), 256, np.float32)
    env.step(push)
    moment = env.snapshot()
    futures = paths(3, 4, seed=2)
    copies = env.branch(3, index=1)
    branched, *_, info = copies.step(futures)
    first = env.step(futures[:2])
    env.restore(moment)
    again = env.step(futures[:2])
    np.testing.assert_array_equal(first[4]["frames"], again[4]["frames"])
    np.testing.assert_array_equal(first[4]["labels"]["coverage"], again[4]["labels"]["coverage"])
    np.testing.assert_array_equal(info["frames"][1], first[4]["frames"][1])
    for k in range(3):
        replay = TeacherVectorEnv(1, chunk=4)
        replay.reset(options={"start": "near-12"})
        replay.step(push[:1])
        np.testing.assert_array_equal(replay.step(futures[k : k + 1])[0]["image"][0], branched["image"][k])


def test_bad_input():
    env = TeacherEnv()
    with pytest.raises(InputError, match="true simulator cannot start"):
        env.reset(options={"image": np.zeros((64, 64, 3), np.uint8), "proprio": [0, 0]})
    with pytest.raises(InputError, match="nowhere"):
        env.reset(options={"start": "nowhere"})
    env.reset(seed=0)
    with pytest.raises(InputError, match="'target_x' is 600 px"):
        env.step(np.array([600, 0], np.float32))
    with pytest.raises(InputError, match="no teacher 'chess'"):
        TeacherEnv(teacher="chess")
