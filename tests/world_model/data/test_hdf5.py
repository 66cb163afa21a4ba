"""HDF5 demonstrations: which way up, which observation belongs to which action, and every kind of damage."""

import numpy as np
import pytest

pytest.importorskip("h5py")

import h5py

from tests.world_model.data.demonstrations import SUITE, TASK, libero_file, numbers, robomimic_file
from world_model.data.hdf5 import DemonstrationFile
from world_model.errors import DataError


def test_liberos_layout(tmp_path):
    with DemonstrationFile(libero_file(tmp_path / "a_demo.hdf5")) as file:
        assert (len(file), file.lengths(), file.suite, file.task) == (2, [23, 9], SUITE, TASK)
        assert file.settings["control_freq"] == 20
        actions, states, hand, fingers, pictures = numbers(1, 9)
        demo = file[1]
    assert demo.after
    assert np.array_equal(demo.actions, actions)
    assert np.array_equal(demo.states, states)
    assert np.array_equal(demo.hand, hand)
    assert np.array_equal(demo.fingers, fingers)
    assert np.array_equal(demo.pictures["agentview"], pictures[0])
    assert np.array_equal(demo.pictures["wrist"], pictures[1])
    assert demo.rewards.tolist() == [0] * 8 + [1]


def test_robomimics_layout_has_one_observation_more(tmp_path):
    with DemonstrationFile(robomimic_file(tmp_path / "lift.hdf5", 11)) as file:
        demo = file[0]
        assert file.lengths() == [12]
        assert (file.settings["env_name"], file.suite, file.task) == ("Lift", "", "")
    _, _, hand, _, pictures = numbers(0, 12)
    assert not demo.after
    assert np.array_equal(demo.pictures["agentview"], pictures[0])
    assert np.array_equal(demo.hand[:, :3], hand[:, :3])
    assert demo.hand[:, 3:] == pytest.approx(np.tile([np.pi, 0, 0], (12, 1)))
    assert len(demo.actions) == 11


def test_demonstrations_are_in_the_order_of_their_numbers(tmp_path):
    with DemonstrationFile(libero_file(tmp_path / "a.hdf5", tuple(range(5, 17)))) as file:
        assert file.lengths() == list(range(5, 17))


def test_a_real_file_of_robosuite(shared_data):
    with DemonstrationFile(shared_data / "robosuite_teleop" / "lift_demo.hdf5") as file:
        assert file.lengths() == [482, 510, 392]
        assert file.settings["env_name"] == "Lift"
        demo = file[0]
    assert demo.states.shape == (482, 32)
    assert demo.pictures == {}


def spoil(path, name, change):
    with h5py.File(path, "r+") as file:
        values = change(file[name][()])
        del file[name]
        if values is not None:
            file.create_dataset(name, data=values)
    return path


def with_nan(values):
    values[3, 2] = np.nan
    return values


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("data/demo_1/actions", lambda v: None, r"a\.hdf5 is damaged"),
        ("data/demo_1/actions", lambda v: v[:-1], r"rows of /data/demo_1 are .*do not fit"),
        ("data/demo_1/actions", with_nan, "actions of /data/demo_1 hold NaN"),
        ("data/demo_1/obs/agentview_rgb", lambda v: v[:-2], r"rows of /data/demo_1 are"),
        ("data/demo_1/obs/agentview_rgb", lambda v: v.astype(np.float32), "are float32"),
        ("data/demo_1/obs/ee_states", with_nan, "hand of /data/demo_1 hold NaN"),
    ],
)
def test_damaged_demonstrations_are_named(tmp_path, name, change, message):
    path = spoil(libero_file(tmp_path / "a.hdf5"), name, change)
    with pytest.raises(DataError, match=message):
        list(DemonstrationFile(path))


def test_damaged_files_are_named(tmp_path):
    path = libero_file(tmp_path / "a.hdf5", (300, 200))
    raw = path.read_bytes()
    path.write_bytes(raw[: len(raw) // 2])
    with pytest.raises(DataError, match=r"a\.hdf5 is damaged, cut off"):
        list(DemonstrationFile(path))
    path.write_text("no HDF5 at all")
    with pytest.raises(DataError, match=r"a\.hdf5 is damaged, cut off or no file"):
        DemonstrationFile(path)
    path.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1234\n")
    with pytest.raises(DataError, match="git lfs pull"):
        DemonstrationFile(path)
    with pytest.raises(DataError, match="is missing"):
        DemonstrationFile(tmp_path / "b.hdf5")
    with h5py.File(tmp_path / "c.hdf5", "w") as file:
        file.create_group("data")
    with pytest.raises(DataError, match="holds no demonstration"):
        DemonstrationFile(tmp_path / "c.hdf5")
