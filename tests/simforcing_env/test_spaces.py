import dataclasses

import pytest

from simforcing_env.spaces import action_space, observation_space
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


def test_cameras_of_different_heights_are_refused():
    contract = dataclasses.replace(TWO, cameras=(Camera("top", 8, 8), Camera("wrist", 4, 4)))
    with pytest.raises(ContractError, match=r"heights \[4, 8\]"):
        observation_space(contract)


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
