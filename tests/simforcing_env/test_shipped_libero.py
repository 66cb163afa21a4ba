"""The packaged LIBERO simulators, as a user gets them."""

import warnings

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import simforcing_env
from world_model.errors import InputError
from world_model.runtime import has_bfloat16

WORLDS = [world for world in simforcing_env.WORLDS if world.name.startswith("libero")]
pytestmark = pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)


def pushes(count, frames, seed=0):
    """Hands that wander: ``(count, 4 frames, 7)``."""
    rng = np.random.default_rng(seed)
    pushed = np.cumsum(rng.normal(0, 0.15, (count, frames, 7)), axis=1)
    return pushed.clip(-1, 1).repeat(4, axis=1).astype(np.float32)


def make(world, count, frames):
    return gym.make_vec(world.id, num_envs=count, chunk=4 * frames, success_threshold=1.0)


def test_gymnasiums_checker(world):
    env = gym.make(world.id, render_mode="rgb_array")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env.unwrapped)


def test_spaces_and_infos_equal_the_teachers(world):
    pytest.importorskip("libero")
    ours, theirs = make(world, 1, 2), gym.make_vec(world.teacher_id, num_envs=1, chunk=8)
    assert ours.observation_space == theirs.observation_space
    assert ours.action_space == theirs.action_space
    assert ours.contract == theirs.contract
    start = next(name for name in ours.backend.starts.names if name.split("/")[1] == "0")
    observation, _ = ours.reset(seed=0, options={"start": start})
    true, _ = theirs.reset(options={"start": start})
    for key in ("image_agentview", "image_wrist"):
        assert np.abs(observation[key].astype(int) - true[key]).mean() < 0.5
    np.testing.assert_allclose(observation["proprio"], true["proprio"], atol=1e-3)
    actions = pushes(1, 2)
    mine, other = (env.step(actions)[4] for env in (ours, theirs))
    hands = [info["proprio"][0, -1, :3] for info in (mine, other)]
    assert np.linalg.norm(hands[0] - hands[1]) < 0.03


def test_every_task_has_starts(world):
    envs = make(world, 10, 1)
    envs.reset(seed=0)
    assert {int(name.split("/")[1]) for name in envs.backend.starts.names} == set(range(10))
    for task in (0, 9):
        chosen = gym.make_vec(world.id, num_envs=2, task=task)
        assert {name.split("/")[1] for name in chosen.reset(seed=1)[1]["start"]} == {str(task)}


def test_four_episodes_equal_four_singles(world):
    """To the last grey level where the processor has bfloat16; elsewhere float32 layers round."""
    together = make(world, 4, 12)
    together.reset(seed=70)
    actions = pushes(4, 12)
    *_, info = together.step(actions)
    alone, most = make(world, 1, 12), 0 if has_bfloat16("cpu") else 1
    for row in range(4):
        alone.reset(seed=70 + row)
        *_, single = alone.step(actions[row : row + 1])
        for camera in ("agentview", "wrist"):
            key = f"frames_{camera}"
            assert np.abs(single[key][0].astype(int) - info[key][row].astype(int)).max() <= most
        np.testing.assert_allclose(single["proprio"][0], info["proprio"][row], atol=1e-4 * most, rtol=0)


def test_a_start_names_its_task_by_number(world):
    env = make(world, 1, 1)
    name = env.backend.starts.names[0].split("/")
    with pytest.raises(InputError, match="names its task 'open_the_door'; give the task's number"):
        env.reset(options={"start": f"{name[0]}/open_the_door/{name[2]}"})


def test_a_branch_equals_the_replay(world):
    env = make(world, 1, 2)
    env.reset(seed=5)
    env.step(pushes(1, 2))
    *_, branched = env.branch(3, chunk=8).step(pushes(3, 2, seed=1))
    for row in range(3):
        env.reset(seed=5)
        env.step(pushes(1, 2))
        *_, replay = env.step(pushes(3, 2, seed=1)[row : row + 1])
        key = "frames_agentview"
        assert np.abs(replay[key][0].astype(int) - branched[key][row].astype(int)).max() <= 1
        np.testing.assert_allclose(replay["success"][0], branched["success"][row], atol=1e-3)


def test_pictures_come_as_an_observation_holds_them_or_by_camera(world):
    env = make(world, 1, 1)
    first, info = env.reset(seed=3)
    task = int(info["start"][0].split("/")[1])
    pictures = {key: first[key][0] for key in ("image_agentview", "image_wrist")}
    by_camera = {key.removeprefix("image_"): picture for key, picture in pictures.items()}
    following = []
    for image in (pictures, by_camera):
        begun, _ = env.reset(seed=3, options={"image": image, "proprio": first["proprio"][0], "task": task})
        np.testing.assert_array_equal(begun["image_wrist"], first["image_wrist"])
        following.append(env.step(pushes(1, 1))[0])
    np.testing.assert_array_equal(following[0]["image_wrist"], following[1]["image_wrist"])
