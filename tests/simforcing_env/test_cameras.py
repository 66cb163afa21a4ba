"""A learned world with two cameras: one canvas inside, a picture of each outside."""

import dataclasses
import warnings

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from simforcing_env.env import WorldModelEnv
from simforcing_env.vector_env import WorldModelVectorEnv
from tests.world_model.tiny import SIZE, tiny_contract, tiny_simulator
from world_model.canvas import join
from world_model.contract import Camera
from world_model.errors import ContractError, DataError, InputError
from world_model.pretrained import Starts

CAMERAS = (Camera("top", SIZE, SIZE), Camera("wrist", SIZE, SIZE // 2))
CONTRACT = dataclasses.replace(tiny_contract(), cameras=CAMERAS)


def pictures(count, seed=0):
    rng = np.random.default_rng(seed)
    return {c.name: rng.integers(0, 256, (count, c.height, c.width, 3), dtype=np.uint8) for c in CAMERAS}


def simulator():
    one = tiny_simulator()
    one.contract = CONTRACT
    one.starts = Starts(one.starts.names, join(CONTRACT, pictures(3)), one.starts.proprio)
    return one


def test_the_checker_is_content_and_each_camera_has_its_picture():
    env = WorldModelEnv(checkpoint=simulator(), max_episode_steps=5)
    assert {key: space.shape for key, space in env.observation_space.items()} == {
        "image_top": (16, 16, 3),
        "image_wrist": (16, 8, 3),
        "proprio": (2,),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*symmetric and normalized space")
        check_env(env, skip_render_check=True)


def test_a_start_shows_its_own_pictures_and_steps_go_on_from_both():
    env, shown = WorldModelEnv(checkpoint=simulator(), max_episode_steps=5), pictures(3)
    seen, _ = env.reset(seed=0, options={"start": "middle"})
    for name, batch in shown.items():
        np.testing.assert_array_equal(seen[f"image_{name}"], batch[1])
    seen, _, _, _, info = env.step(np.array([40, 60], np.float32))
    assert info["frames_top"].shape == (1, 16, 16, 3)
    np.testing.assert_array_equal(info["frames_wrist"][-1], seen["image_wrist"])


def test_a_users_pictures_are_a_mapping_from_camera_to_picture():
    env, shown = WorldModelVectorEnv(2, checkpoint=simulator()), pictures(2, seed=5)
    start = {"image": shown, "proprio": np.array([20, 30], np.float32)}
    seen, _ = env.reset(seed=0, options=start)
    for name, batch in shown.items():
        np.testing.assert_array_equal(seen[f"image_{name}"], batch)
    first = env.step(env.action_space.sample() * 0 + 50)[0]
    other = {**shown, "wrist": 255 - shown["wrist"]}
    env.reset(seed=0, options={**start, "image": other})
    second = env.step(env.action_space.sample() * 0 + 50)[0]
    assert (first["image_wrist"] != second["image_wrist"]).any()  # the history holds every camera
    with pytest.raises(InputError, match=r"cameras \['top', 'wrist'\]; give a mapping"):
        env.reset(options={**start, "image": shown["top"]})
    with pytest.raises(InputError, match=r"lack the cameras \['wrist'\]"):
        env.reset(options={**start, "image": {"top": shown["top"]}})
    with pytest.raises(InputError, match="image of camera 'wrist' is uint8"):
        env.reset(options={**start, "image": {**shown, "wrist": shown["top"]}})


def test_lerobots_keys_name_the_cameras():
    env = WorldModelEnv(checkpoint=simulator(), observation_keys="lerobot")
    seen, _ = env.reset(seed=0)
    assert sorted(seen) == ["observation.images.top", "observation.images.wrist", "observation.state"]


def test_saved_moments_hold_every_camera():
    env = WorldModelVectorEnv(2, checkpoint=simulator())
    env.reset(seed=3)
    saved, actions = env.snapshot(), np.full((2, 2), 30, np.float32)
    seen = env.step(actions)[0]
    env.restore(saved)
    again = env.step(actions)[0]
    for key in seen:
        np.testing.assert_array_equal(seen[key], again[key])


def test_what_does_not_fit_is_refused():
    with pytest.raises(DataError, match=r"frames \(16, 16, 3\)"):
        tiny_simulator().starts.check(CONTRACT, "here")
    uneven = simulator()
    uneven.contract = dataclasses.replace(CONTRACT, cameras=(CAMERAS[0], Camera("wrist", 8, 8)))
    with pytest.raises(ContractError, match=r"heights \[8, 16\]"):
        WorldModelEnv(checkpoint=uneven)
