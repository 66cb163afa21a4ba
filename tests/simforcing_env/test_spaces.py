import dataclasses

import numpy as np
import pytest

from simforcing_env.spaces import action_space, image_keys, join_cameras, observation_space, split_cameras
from tests.world_model.tiny import tiny_contract
from world_model.contract import Camera
from world_model.errors import ContractError, InputError

TWO = dataclasses.replace(tiny_contract(), cameras=(Camera("top", 8, 8), Camera("wrist", 8, 4)))


def test_one_camera_is_image_and_several_are_named():
    assert list(observation_space(tiny_contract())) == ["image", "proprio"]
    assert observation_space(tiny_contract())["image"].shape == (16, 16, 3)
    assert {key: space.shape for key, space in observation_space(TWO).items()} == {
        "image_top": (8, 8, 3),
        "image_wrist": (8, 4, 3),
        "proprio": (2,),
    }


def test_lerobots_keys():
    assert list(observation_space(TWO, "lerobot")) == [
        "observation.images.top",
        "observation.images.wrist",
        "observation.state",
    ]


def test_cameras_stand_side_by_side():
    rng = np.random.default_rng(0)
    top, wrist = (rng.integers(0, 256, (2, 8, width, 3), dtype=np.uint8) for width in (8, 4))
    joined = join_cameras(TWO, {"wrist": wrist, "top": top})
    assert joined.shape == (2, 8, 12, 3)
    parts = split_cameras(TWO, joined, image_keys(TWO))
    np.testing.assert_array_equal(parts["image_top"], top)
    np.testing.assert_array_equal(parts["image_wrist"], wrist)


def test_cameras_of_different_heights_are_refused():
    contract = dataclasses.replace(TWO, cameras=(Camera("top", 8, 8), Camera("wrist", 4, 4)))
    with pytest.raises(ContractError, match=r"heights \[4, 8\]"):
        observation_space(contract)


def test_images_are_checked():
    contract = tiny_contract()
    with pytest.raises(InputError, match=r"float64 \(16, 16, 3\) but must be uint8"):
        join_cameras(contract, np.zeros((16, 16, 3)))
    with pytest.raises(InputError, match=r"\(3, 16, 16\)"):
        join_cameras(contract, np.zeros((3, 16, 16), np.uint8))
    with pytest.raises(InputError, match="lack the cameras"):
        join_cameras(TWO, {"top": np.zeros((8, 8, 3), np.uint8)})
    with pytest.raises(InputError, match="mapping"):
        join_cameras(TWO, np.zeros((8, 12, 3), np.uint8))


def test_action_space_follows_chunk_and_actions_per_frame():
    assert action_space(tiny_contract(), None).shape == (2,)
    assert action_space(tiny_contract(), 5).shape == (5, 2)
    assert action_space(tiny_contract(4), None).shape == (4, 2)
    assert action_space(tiny_contract(4), 8).shape == (8, 2)
    assert action_space(tiny_contract(), 3).high.max() == 100
    with pytest.raises(InputError, match="chunk is 6"):
        action_space(tiny_contract(4), 6)
    with pytest.raises(InputError, match="chunk is 0"):
        action_space(tiny_contract(), 0)
