"""What is read from one layout, written in another and read again."""

import dataclasses

import numpy as np
import pytest

from world_model.data.readers.base import AS_STORED, View
from world_model.data.readers.registry import open_reader
from world_model.data.readers.samples import make_sample
from world_model.data.writers.base import Origin
from world_model.data.writers.registry import make_writer
from world_model.errors import DataError, InputError


@pytest.fixture(scope="module")
def source(shared_data, tmp_path_factory):
    def opened(name, view=AS_STORED):
        folder = tmp_path_factory.mktemp("source") / name
        folder.mkdir()
        make_sample(name, shared_data, folder)
        return open_reader(folder, view=view)

    return opened


def written(reader, layout, folder, count=2):
    """The first episodes in another layout, and the reader of those."""
    tasks = tuple(dict.fromkeys(reader.numbers(i).task for i in range(len(reader))))
    folder.mkdir()
    writer = make_writer(layout, folder, Origin(reader.contract, reader.state_names, reader.label_names, tasks))
    for index in range(min(count, len(reader))):
        episode = dataclasses.replace(reader[index], task=tasks.index(reader.numbers(index).task))
        writer.add(episode, reader.names[index], reader.splits[index])
    writer.close()
    return writer, open_reader(folder)


def same(a, b, index, names=("frames", "actions", "proprio")):
    first, second = a[index], b[index]
    for name in names:
        assert np.array_equal(getattr(first, name), getattr(second, name)), name
    assert a.numbers(index).task == b.numbers(index).task


@pytest.mark.parametrize("name", ["bridge-rlds", "lerobot", "so101-lerobot-v2"])
def test_rlds_keeps_frames_numbers_and_tasks(source, tmp_path, name):
    reader = source(name, View((24, 32)))
    _, back = written(reader, "rlds", tmp_path / "out")
    assert back.layout == "rlds"
    for index in range(2):
        same(reader, back, index)
    if name == "bridge-rlds":
        assert np.array_equal(reader[0].labels["reward"], back[0].labels["reward"])


@pytest.mark.parametrize("name", ["bridge-rlds", "pusht-zarr", "bair"])
def test_lerobot_v2_keeps_frames_numbers_and_tasks(source, tmp_path, name):
    reader = source(name, View((24, 32)))
    writer, back = written(reader, "lerobot-v2", tmp_path / "out")
    assert back.layout == "lerobot-v2"
    for index in range(min(2, len(reader))):
        same(reader, back, index)
    assert [d.name for d in back.contract.actions] == [d.name for d in reader.contract.actions]
    assert [c.name for c in back.contract.cameras] == [c.name for c in reader.contract.cameras]
    assert any("no contract" in w for w in writer.warnings)
    assert any("privileged state" in w for w in writer.warnings) == (name == "pusht-zarr")


@pytest.mark.parametrize("name", ["droid", "language-table"])
def test_irasim_keeps_poses_and_plane_actions(source, tmp_path, name):
    reader = source(name, View((24, 32)))
    _, back = written(reader, "irasim", tmp_path / "out")
    same(reader, back, 0)
    assert back.splits == reader.splits


def test_mp4_npz_keeps_frames_and_actions(source, tmp_path):
    reader = source("bridge-mp4-npz")
    writer, back = written(reader, "mp4-npz", tmp_path / "out")
    for index in range(2):
        same(reader, back, index)
    assert not any("proprio" in w for w in writer.warnings)  # there is none to lose


def test_what_does_not_fit_is_refused(source, tmp_path):
    rlds = source("bridge-rlds")
    with pytest.raises(DataError, match="episode train-0 has actions that do not follow from its poses"):
        written(rlds, "irasim", tmp_path / "a")
    with pytest.raises(InputError, match="one camera, not 4"):
        written(rlds, "mp4-npz", tmp_path / "b")
    with pytest.raises(
        InputError, match=r"take scaled \(relative\), sign \(absolute\) with gripper plus_closes for granted"
    ):
        written(source("bridge-rlds", View(None, ("image_0",))), "mp4-npz", tmp_path / "f")
    with pytest.raises(InputError, match="7-number poses or 2 actions"):
        written(source("bridge-mp4-npz"), "irasim", tmp_path / "c")
    with pytest.raises(InputError, match="one action of 7 numbers"):
        written(source("bair", View(None, ("image",))), "mp4-npz", tmp_path / "d")
    with pytest.raises(InputError, match="cannot be written"):
        written(rlds, "zarr", tmp_path / "e")
