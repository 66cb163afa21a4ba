"""HDF5 demonstrations become data sets, and LIBERO data sets become HDF5 and come back."""

import dataclasses
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("h5py")

from scipy.spatial.transform import Rotation

from teachers.collection import Job, collect
from teachers.libero.demonstration_export import export_demonstrations
from teachers.libero.demonstration_files import demonstration_files, whole_files
from teachers.libero.demonstrations import ImportJob
from tests.world_model.data.demonstrations import libero_file, numbers, robomimic_file
from world_model.data.lerobot.reader import read_dataset
from world_model.errors import DataError, InputError

MAIN = "import sys; from simforcing_env.commands.main import main; sys.exit(main(sys.argv[1:]))"


def job(*files, **changes):
    return ImportJob("", "train", 0, None, {}, files=files, **changes)


def nothing(done, total=0):
    pass


def test_frames_are_counted_back_from_the_last_and_take_the_actions_between(tmp_path):
    recorder = job(libero_file(tmp_path / "a.hdf5", (23, 9))).recorder()
    actions, _, hand, fingers, pictures = numbers(0, 23)
    episode, rows = recorder.record(0), [2, 6, 10, 14, 18, 22]
    assert recorder.length(0) == len(episode) == len(rows)
    assert recorder.count() == 1  # of two, the first nine tenths
    assert np.array_equal(episode.frames[:, :, :8], pictures[0][rows])
    assert np.array_equal(episode.frames[:, :, 8:], pictures[1][rows])
    # Row 2 was seen after action 2, so that actions 3 to 6 lead to row 6.
    assert episode.actions == pytest.approx(actions[3:23].reshape(5, 4, 7), abs=1e-6)
    assert episode.proprio[:, :3] == pytest.approx(hand[rows, :3], abs=1e-6)
    assert episode.proprio[:, 6] == pytest.approx(np.abs(fingers[rows, 0] - fingers[rows, 1]), abs=1e-6)
    assert episode.labels["success"].tolist() == [0, 0, 0, 0, 0, 1]
    assert recorder.spec.tasks[episode.task] == "turn on the stove"
    assert recorder.spec.contract.name == "libero_goal"
    assert recorder.spec.contract.cameras[0].height == 8


def test_observations_before_their_actions(tmp_path):
    recorder = job(robomimic_file(tmp_path / "lift.hdf5", 11), frame_hz=10.0).recorder()
    actions, _, _, _, pictures = numbers(0, 12)
    episode, rows = recorder.record(0), [1, 3, 5, 7, 9, 11]
    assert np.array_equal(episode.frames[:, :, :8], pictures[0][rows])
    assert episode.actions == pytest.approx(actions[1:11].reshape(5, 2, 7), abs=1e-6)
    assert episode.labels["success"].tolist() == [0, 0, 0, 0, 0, 1]
    assert recorder.spec.contract.name == "robosuite_lift"


def test_the_hand_pointing_straight_down_has_no_turn(tmp_path):
    import h5py

    path = libero_file(tmp_path / "a.hdf5")
    down = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, -1.0]])  # of the place between the fingers
    body = Rotation.from_matrix(down @ np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])).as_rotvec()
    with h5py.File(path, "r+") as file:
        file["data/demo_0/obs/ee_states"][:, 3:] = body
    assert job(path).recorder().record(0).proprio[:, 3:6] == pytest.approx(np.zeros((6, 3)), abs=1e-6)


def test_states_without_pictures_are_drawn(tmp_path, shared_data, drawing):
    recorder = job(shared_data / "robosuite_teleop" / "lift_demo.hdf5", frame_hz=1.0, size=32).recorder()
    assert recorder.count() == 2
    episode = recorder.record(0)
    assert episode.frames.shape == (25, 32, 64, 3)
    assert np.abs(episode.actions).max() <= 1
    assert episode.labels["success"][0] == 0
    assert episode.labels["success"][-1] == 1
    names = recorder.spec.state_names
    cube = episode.state[:, names.index("cube_z")]
    assert cube[-1] > cube[0] + 0.03
    assert episode.proprio[-1, 2] == pytest.approx(cube[-1], abs=0.03)  # the cube is in the hand


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"cameras": ("roof",)}, "roof"),
        ({"frame_hz": 7.0}, "frame_hz is 7"),
        ({"split": "validation"}, "no demonstration is of split 'validation'"),
    ],
)
def test_bad_settings_are_refused(tmp_path, changes, message):
    path = libero_file(tmp_path / "a.hdf5")
    with pytest.raises(InputError, match=message):
        dataclasses.replace(job(path), **changes).recorder()


def test_files_of_other_worlds_are_refused(tmp_path):
    one, two = libero_file(tmp_path / "a.hdf5"), robomimic_file(tmp_path / "b.hdf5")
    with pytest.raises(InputError, match=r"a\.hdf5 is of libero_goal and .*b\.hdf5 of robosuite_lift"):
        job(one, two).recorder()
    stray = libero_file(tmp_path / "turn_on_the_stove_demo.hdf5", suite="", task="")
    with pytest.raises(InputError, match="give --suite"):
        job(stray).recorder()
    with pytest.raises(InputError, match="no task 'fly'"):
        job(libero_file(tmp_path / "c.hdf5", task="fly")).recorder()


def test_damaged_files_end_the_import_unless_they_are_left_out(tmp_path):
    (tmp_path / "source").mkdir()
    whole = libero_file(tmp_path / "source" / "a.hdf5")
    cut = libero_file(tmp_path / "source" / "b.hdf5", (300, 200))
    cut.write_bytes(cut.read_bytes()[:20_000])
    words = ["data", "import", "--source", str(tmp_path / "source"), "--out", str(tmp_path / "out")]
    refused = subprocess.run([sys.executable, "-c", MAIN, *words], capture_output=True, text=True, check=False)
    assert refused.returncode != 0
    assert "b.hdf5 is damaged" in refused.stderr
    assert "--skip-damaged" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert not (tmp_path / "out").exists()
    words.append("--skip-damaged")
    done = subprocess.run([sys.executable, "-c", MAIN, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "left out:" in done.stderr
    assert "b.hdf5" in done.stderr
    assert "1 episodes of 1 files, 1 damaged files left out" in done.stdout
    dataset = read_dataset(tmp_path / "out")
    assert np.array_equal(dataset[0].frames, job(whole).recorder().record(0).frames)


def test_no_files_at_all(tmp_path):
    with pytest.raises(DataError, match="no folder with any"):
        demonstration_files(tmp_path)
    (tmp_path / "a.hdf5").write_text("nothing")
    with pytest.raises(DataError, match="all 1 files are damaged"):
        whole_files(demonstration_files(tmp_path), nothing)


@pytest.mark.slow
def test_an_exported_data_set_comes_back(tmp_path, drawing):
    options = {"tasks": (7,), "behaviours": ("expert",), "size": 32, "look": "fast"}
    collect(Job("libero", "validation", 3, None, options, episodes=1), tmp_path / "data", 1, nothing)
    dataset = read_dataset(tmp_path / "data")
    (path,) = export_demonstrations(dataset, tmp_path / "hdf5", look="fast", progress=nothing)
    assert path.name == "turn_on_the_stove_demo.hdf5"
    assert str(sys.prefix).encode() not in path.read_bytes()
    recorder = job(path).recorder()
    back, before = recorder.record(0), dataset[0]
    # The first observation of such a file comes after the first action, so the first frame is not in it.
    assert np.array_equal(back.frames, before.frames[1:])
    assert np.array_equal(back.actions, before.actions[1:])
    assert back.proprio == pytest.approx(before.proprio[1:], abs=1e-4)
    assert np.array_equal(back.labels["success"], before.labels["success"][1:])
    with pytest.raises(InputError, match="is there already"):
        export_demonstrations(dataset, tmp_path / "hdf5")


def test_only_libero_data_sets_are_exported(tmp_path):
    pytest.importorskip("gym_pusht")
    collect(Job("pusht", "train", 0, None, {"size": 32}, episodes=1), tmp_path / "data", 1, nothing)
    with pytest.raises(InputError, match="is of 'pusht', not of a LIBERO suite"):
        export_demonstrations(read_dataset(tmp_path / "data"), tmp_path / "out")
    assert not (tmp_path / "out").exists()
