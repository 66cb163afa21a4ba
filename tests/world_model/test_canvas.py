import dataclasses

import numpy as np
import pytest

from tests.world_model.tiny import tiny_contract
from world_model.canvas import canvas_shape, join, split
from world_model.contract import Camera
from world_model.errors import ContractError, InputError

TWO = dataclasses.replace(tiny_contract(), cameras=(Camera("top", 8, 8), Camera("wrist", 8, 4)))


def test_cameras_stand_side_by_side_in_the_contracts_order():
    rng = np.random.default_rng(0)
    top, wrist = (rng.integers(0, 256, (2, 8, width, 3), dtype=np.uint8) for width in (8, 4))
    canvas = join(TWO, {"wrist": wrist, "top": top})
    assert canvas.shape == (2, *canvas_shape(TWO)) == (2, 8, 12, 3)
    np.testing.assert_array_equal(canvas[:, :, :8], top)
    parts = split(TWO, canvas)
    assert list(parts) == ["top", "wrist"]
    np.testing.assert_array_equal(parts["top"], top)
    np.testing.assert_array_equal(parts["wrist"], wrist)
    assert list(split(TWO, canvas, ["a", "b"])) == ["a", "b"]


def test_one_camera_is_its_own_canvas():
    contract = tiny_contract()
    frame = np.random.default_rng(0).integers(0, 256, (16, 16, 3), dtype=np.uint8)
    np.testing.assert_array_equal(join(contract, frame), frame)
    np.testing.assert_array_equal(join(contract, {contract.cameras[0].name: frame}), frame)
    np.testing.assert_array_equal(split(contract, frame)[contract.cameras[0].name], frame)


def test_split_pictures_are_copies():
    canvas = np.zeros((8, 12, 3), np.uint8)
    split(TWO, canvas)["top"][:] = 255
    assert canvas.max() == 0


def test_cameras_of_different_heights_are_refused():
    contract = dataclasses.replace(TWO, cameras=(Camera("top", 8, 8), Camera("wrist", 4, 4)))
    with pytest.raises(ContractError, match=r"heights \[4, 8\]"):
        canvas_shape(contract)
    with pytest.raises(ContractError, match=r"heights \[4, 8\]"):
        join(contract, {"top": np.zeros((8, 8, 3), np.uint8), "wrist": np.zeros((4, 4, 3), np.uint8)})


def test_pictures_are_checked():
    contract = tiny_contract()
    with pytest.raises(InputError, match=r"float64 \(16, 16, 3\) but must be uint8"):
        join(contract, np.zeros((16, 16, 3)))
    with pytest.raises(InputError, match=r"\(3, 16, 16\)"):
        join(contract, np.zeros((3, 16, 16), np.uint8))
    with pytest.raises(InputError, match="lack the cameras"):
        join(TWO, {"top": np.zeros((8, 8, 3), np.uint8)})
    with pytest.raises(InputError, match="mapping"):
        join(TWO, np.zeros((8, 12, 3), np.uint8))
    with pytest.raises(InputError, match="differ in number"):
        join(TWO, {"top": np.zeros((2, 8, 8, 3), np.uint8), "wrist": np.zeros((3, 8, 4, 3), np.uint8)})
