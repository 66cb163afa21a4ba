"""Reset and step of the vector form, and its equality with the single form."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from tests.world_model.tiny import SIZE, tiny_simulator
from world_model.errors import InputError
from world_model.runtime import has_bfloat16


def sample(env, seed=0):
    env.action_space.seed(seed)
    action = env.action_space.sample()
    return np.minimum(action, 70).astype(np.float32)  # x above 75 would be a success


def close(a, b, levels=1):
    return np.abs(np.asarray(a).astype(float) - np.asarray(b).astype(float)).max() <= levels


@pytest.mark.parametrize("chunk", [None, 4])
def test_what_comes_back_is_in_the_spaces(make_vector, chunk):
    env = make_vector(3, chunk=chunk)
    observation, info = env.reset(seed=0)
    assert observation in env.observation_space
    assert info["episode_seed"].tolist() == [0, 1, 2]
    assert set(info["start"]) <= {"left", "middle", "right"}
    assert info["brightness"].shape == (3,)
    observation, reward, terminated, truncated, info = env.step(sample(env))
    assert observation in env.observation_space
    assert reward.shape == terminated.shape == truncated.shape == (3,)
    n = chunk or 1
    assert info["frames"].shape == (3, n, SIZE, SIZE, 3)
    assert info["proprio"].shape == (3, n, 2)
    for key in ("rewards", "success", "uncertainty"):
        assert info[key].shape == (3, n)
    assert info["labels"]["brightness"].shape == (3, n)
    assert info["frames_valid"].tolist() == [n] * 3
    np.testing.assert_array_equal(observation["image"], info["frames"][:, -1])
    np.testing.assert_array_equal(info["brightness"], info["labels"]["brightness"][:, -1])
    np.testing.assert_allclose(reward, info["rewards"].sum(1))
    assert (info["uncertainty"] > 0).all()


def test_actions_reach_the_model_in_its_units(make_vector):
    """The tiny pusher jumps onto its target and the reward is its x over 100, so the numbers are known."""
    env = make_vector(2, chunk=3)
    env.reset(seed=0)
    actions = np.array([[[10, 90], [20, 80], [30, 70]], [[0, 0], [70, 0], [50, 50]]], np.float32)
    observation, reward, *_, info = env.step(actions)
    np.testing.assert_allclose(info["proprio"], actions, atol=1e-3)
    np.testing.assert_allclose(observation["proprio"], [[30, 70], [50, 50]], atol=1e-3)
    np.testing.assert_allclose(reward, [0.6, 1.2], atol=1e-4)


def test_four_actions_per_frame():
    from simforcing_env.vector_env import WorldModelVectorEnv

    env = WorldModelVectorEnv(2, checkpoint=tiny_simulator(actions_per_frame=4), chunk=8)
    env.reset(seed=0)
    actions = np.arange(32, dtype=np.float32).reshape(2, 8, 2)
    *_, info = env.step(actions)
    assert info["frames"].shape[:2] == (2, 2)
    np.testing.assert_allclose(info["proprio"], actions[:, 3::4], atol=1e-3)


@pytest.mark.parametrize("rows_per_call", [1, 0])
def test_eight_slots_equal_eight_singles(make_vector, make_single, rows_per_call):
    """To the last bit when each is called alone; together, float32 rounds by the batch, and 16 frames of an untrained
    network carry that on."""
    levels = 0 if rows_per_call else 1 if has_bfloat16("cpu") else 3
    env = make_vector(8, chunk=2, rows_per_call=rows_per_call)
    observation, _ = env.reset(seed=40)
    chunks = [sample(env, i) for i in range(8)]
    outcomes = [env.step(chunk) for chunk in chunks]
    for i in range(8):
        single = make_single(chunk=2)
        first, _ = single.reset(seed=40 + i)
        np.testing.assert_array_equal(first["image"], observation["image"][i])
        for chunk, (seen, reward, _, _, info) in zip(chunks, outcomes, strict=True):
            alone, reward_alone, *_, info_alone = single.step(chunk[i])
            assert close(alone["image"], seen["image"][i], levels)
            assert close(info_alone["frames"], info["frames"][i], levels)
            np.testing.assert_allclose(alone["proprio"], seen["proprio"][i], atol=1e-3)
            np.testing.assert_allclose(reward_alone, reward[i], atol=1e-5)


def test_the_slot_and_the_neighbours_do_not_matter(make_vector):
    actions = sample(make_vector(3, chunk=4))
    actions[:] = actions[0]
    here, there = make_vector(3, chunk=4), make_vector(3, chunk=4)
    here.reset(seed=[5, 6, 7], options={"start": "left"})
    there.reset(seed=[9, 8, 5], options={"start": ["right", "middle", "left"]})
    assert close(here.step(actions)[0]["image"][0], there.step(actions)[0]["image"][2])


def test_a_different_seed_differs(make_vector):
    env = make_vector(2, chunk=4)
    env.reset(seed=[1, 2], options={"start": "left"})
    image = env.step(np.full((2, 4, 2), 30, np.float32))[0]["image"]
    assert (image[0] != image[1]).any()


def test_an_unseeded_episode_can_be_repeated_from_its_info(make_vector):
    env = make_vector(2, chunk=3)
    _, info = env.reset()
    actions = sample(env)
    first = env.step(actions)
    again = make_vector(2, chunk=3)
    _, info_again = again.reset(seed=info["episode_seed"].tolist())
    assert info_again["start"].tolist() == info["start"].tolist()
    assert close(again.step(actions)[0]["image"], first[0]["image"])


def test_seeds_draw_starts_and_unseeded_resets_follow_the_stream(make_vector):
    env = make_vector(64)
    _, info = env.reset(seed=0)
    assert set(info["start"]) == {"left", "middle", "right"}
    _, second = env.reset()
    env.reset(seed=0)
    _, again = env.reset()
    np.testing.assert_array_equal(second["episode_seed"], again["episode_seed"])
    assert (second["episode_seed"] != info["episode_seed"]).all()


def test_named_starts_and_pictures(make_vector):
    env = make_vector(3)
    starts = tiny_simulator().starts
    observation, info = env.reset(seed=0, options={"start": ["right", "left", "left"]})
    np.testing.assert_array_equal(observation["image"], starts.frames[[2, 0, 0]])
    np.testing.assert_array_equal(observation["proprio"], starts.proprio[[2, 0, 0]])
    assert info["start"].tolist() == ["right", "left", "left"]
    picture = np.full((SIZE, SIZE, 3), 77, np.uint8)
    observation, info = env.reset(seed=0, options={"image": picture, "proprio": [1.0, 2.0]})
    assert (observation["image"] == 77).all()
    assert observation["proprio"].tolist() == [[1, 2]] * 3
    assert info["start"].tolist() == ["image"] * 3
    several = np.stack([picture, picture + 1, picture + 2])
    observation, _ = env.reset(options={"image": several, "proprio": np.ones((3, 2))})
    np.testing.assert_array_equal(observation["image"], several)


def test_a_picture_of_a_start_is_that_start(make_vector):
    starts = tiny_simulator().starts
    named, pictured = make_vector(1, chunk=3), make_vector(1, chunk=3)
    named.reset(seed=3, options={"start": "middle"})
    pictured.reset(seed=3, options={"image": starts.frames[1], "proprio": starts.proprio[1]})
    action = sample(named)
    np.testing.assert_array_equal(named.step(action)[0]["image"], pictured.step(action)[0]["image"])


@pytest.mark.parametrize(
    ("seed", "options", "message"),
    [
        ([1, 2], None, "2 seeds came for 3"),
        (-1, None, "seed -1 is outside"),
        ([1, 2, "x"], None, "seed 'x' is not a whole number"),
        (0, {"strat": "left"}, "option 'strat' is unknown"),
        (0, {"start": "nowhere"}, "start 'nowhere' is not among the 3"),
        (0, {"start": ["left"]}, "a list of 3 names"),
        (0, {"start": "left", "image": 0, "proprio": 0}, "both options"),
        (0, {"image": np.zeros((16, 16, 3), np.uint8)}, "belong together"),
        (0, {"image": np.zeros((16, 16, 3)), "proprio": [0, 0]}, "uint8 RGB"),
        (0, {"image": np.zeros((2, 16, 16, 3), np.uint8), "proprio": [0, 0]}, "one for each of 3"),
        (0, {"image": np.zeros((16, 16, 3), np.uint8), "proprio": [0, 0, 0]}, "'proprio' has shape"),
        (0, {"image": np.zeros((16, 16, 3), np.uint8), "proprio": [0, 101]}, "check its units"),
        (0, {"image": np.zeros((16, 16, 3), np.uint8), "proprio": [0, np.nan]}, "check its units"),
        (0, {"reset_mask": np.ones(3, bool)}, None),
        (0, {"reset_mask": np.array([True, False, False])}, "needs running episodes"),
        (0, {"reset_mask": [True, True, True]}, "bool array"),
        (0, {"reset_mask": np.zeros(3, bool)}, "with a True in it"),
    ],
)
def test_bad_resets(make_vector, seed, options, message):
    env = make_vector(3)
    if message is None:
        env.reset(seed=seed, options=options)
    else:
        with pytest.raises(InputError, match=message):
            env.reset(seed=seed, options=options)


def test_bad_actions_name_the_environment(make_vector):
    env = make_vector(3, chunk=2)
    with pytest.raises(gym.error.ResetNeeded):
        env.step(np.zeros((3, 2, 2), np.float32))
    env.reset(seed=0)
    good = np.full((3, 2, 2), 50, np.float32)
    for value, message in ((np.nan, "NaN or infinite"), (np.inf, "NaN or infinite"), (101.0, "'y' is 101 mm")):
        bad = good.copy()
        bad[1, 1, 1] = value
        with pytest.raises(InputError, match=message) as error:
            env.step(bad)
        assert str(error.value).startswith("environment 1:")
    with pytest.raises(InputError, match=r"shape \(3, 2\) but 3 environments take \(3, 2, 2\)"):
        env.step(good[:, 0])
    before = env.snapshot().to_bytes()
    with pytest.raises(InputError):
        env.step(bad)
    assert env.snapshot().to_bytes() == before  # a refused step changes nothing


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"chunk": 0}, "chunk is 0"),
        ({"success_threshold": 1.5}, "success_threshold"),
        ({"max_episode_steps": 0}, "max_episode_steps"),
        ({"render_mode": "human"}, "render_mode is 'human'"),
        ({"observation_keys": "ros"}, "observation_keys is 'ros'"),
        ({"render_scale": 0}, "render_scale"),
        ({"sampler_steps": 0}, "sampler_steps"),
        ({"history": 0}, "history is 0"),
        ({"autoreset_mode": "Never"}, "autoreset_mode is 'Never'"),
        ({"num_envs": 0}, "num_envs is 0"),
    ],
)
def test_bad_arguments(make_vector, options, message):
    with pytest.raises(InputError, match=message):
        make_vector(**options)


def test_checkpoints_without_heads_or_starts(make_vector):
    simulator = tiny_simulator()
    simulator.starts = None
    env = make_vector(1, checkpoint=simulator)
    with pytest.raises(InputError, match="ships no starts"):
        env.reset(seed=0)
    env.reset(seed=0, options={"image": np.zeros((16, 16, 3), np.uint8), "proprio": [0, 0]})
    simulator.heads = None
    with pytest.raises(InputError, match="no heads"):
        make_vector(1, checkpoint=simulator)


def test_sampler_steps_and_history_are_run_time_choices(make_vector):
    images = []
    for options in ({}, {"sampler_steps": 1}, {"sampler_steps": 3}, {"history": 1}):
        env = make_vector(1, chunk=4, **options)
        env.reset(seed=0, options={"start": "left"})
        images.append(env.step(np.full((1, 4, 2), 30, np.float32))[0]["image"].tobytes())
    assert len(set(images)) == 4


def test_returned_arrays_are_the_users_own(make_vector):
    env = make_vector(1, chunk=2)
    first, _ = env.reset(seed=0)
    kept = first["image"].copy()
    first["image"][:] = 0
    action = np.full((1, 2, 2), 30, np.float32)
    second, *_, info = env.step(action)
    info["frames"][:] = 0
    again = make_vector(1, chunk=2)
    np.testing.assert_array_equal(again.reset(seed=0)[0]["image"], kept)
    np.testing.assert_array_equal(again.step(action)[0]["image"], second["image"])
    np.testing.assert_array_equal(again.step(action)[0]["image"], env.step(action)[0]["image"])


def test_frames_in_info_can_be_left_out(make_vector):
    env = make_vector(1, frames_in_info=False)
    env.reset(seed=0)
    assert "frames" not in env.step(np.full((1, 2), 30, np.float32))[-1]


def test_render(make_vector):
    env = make_vector(2, chunk=3, render_mode="rgb_array", render_scale=2)
    observation, _ = env.reset(seed=0)
    pictures = env.render()
    assert len(pictures) == 2
    assert pictures[0].shape == (2 * SIZE, 2 * SIZE, 3)
    np.testing.assert_array_equal(pictures[1][::2, ::2], observation["image"][1])
    env = make_vector(2, chunk=3, render_mode="rgb_array_list")
    env.reset(seed=0)
    actions = np.full((2, 3, 2), 30, np.float32)
    actions[1, 1, 0] = 90  # success on the second frame
    *_, info = env.step(actions)
    first, second = env.render()
    assert (len(first), len(second)) == (4, 3)
    np.testing.assert_array_equal(np.stack(first[1:]), info["frames"][0])
    assert env.render() == ([], [])
    assert env.metadata["render_fps"] == 10


def test_closed_environments_say_so(make_vector):
    env = make_vector(1)
    env.reset(seed=0)
    env.close()
    env.close()
    with pytest.raises(gym.error.ClosedEnvironmentError):
        env.step(np.zeros((1, 2), np.float32))
    assert env.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
