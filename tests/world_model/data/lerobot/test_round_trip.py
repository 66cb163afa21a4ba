"""What is written is what is read, in any order, and the folder is laid out as LeRobot's own."""

import dataclasses
import json
import shutil

import numpy as np
import pyarrow.parquet as pq
import pytest

from tests.world_model.data.lerobot.folders import LENGTHS, assert_same, make_episode, make_spec, write
from world_model.data.lerobot.reader import read_dataset
from world_model.data.lerobot.shard import ShardWriter
from world_model.data.lerobot.writer import DatasetWriter
from world_model.errors import DataError, InputError

KEY = "observation.images.top"


@pytest.mark.parametrize("actions_per_frame", [1, 4])
@pytest.mark.parametrize("hz", [10.0, 7.5])
def test_episodes_come_back_bit_for_bit(tmp_path, actions_per_frame, hz):
    spec = make_spec(actions_per_frame, hz=hz)
    episodes = write(tmp_path / "data", spec)
    dataset = read_dataset(tmp_path / "data", spec.contract)
    assert dataset.contract == spec.contract
    assert len(dataset) == len(episodes)
    assert dataset.total_frames == sum(LENGTHS)
    assert dataset.lengths.tolist() == list(LENGTHS)
    assert dataset.starts == [e.start for e in episodes]
    assert dataset.behaviours == [e.behaviour for e in episodes]
    for read, written in zip(dataset, episodes, strict=True):
        assert_same(read, written)


def test_any_order_of_reading_gives_the_right_frames(tmp_path):
    episodes = write(tmp_path / "data", make_spec())
    dataset = read_dataset(tmp_path / "data")
    for i in np.random.default_rng(0).integers(-7, 7, 40):
        assert_same(dataset[int(i)], episodes[i])
    assert [e.start for e in dataset[2:5]] == ["seed-2", "seed-3", "seed-4"]
    with pytest.raises(IndexError):
        dataset[7]


def test_the_rows_mean_what_the_layout_says(tmp_path):
    spec = make_spec()
    episode = write(tmp_path / "data", spec)[2]
    columns = read_dataset(tmp_path / "data").columns(2)
    n = len(episode)
    assert np.array_equal(columns["action"][:-1], episode.actions[:, 0])
    assert np.array_equal(columns["action"][-1], episode.actions[-1, 0])
    assert columns["action_is_pad"].tolist() == [False] * (n - 1) + [True]
    assert np.array_equal(columns["label.reward"], episode.labels["reward"])
    assert np.array_equal(columns["next.reward"][:-1], episode.labels["reward"][1:])
    assert np.array_equal(columns["next.success"][:-1], episode.labels["success"][1:].astype(bool))
    assert columns["next.done"].tolist() == [False] * (n - 2) + [True, True]
    assert columns["frame_index"].tolist() == list(range(n))
    assert columns["index"].tolist() == list(range(15, 15 + n))
    assert np.allclose(columns["timestamp"], np.arange(n) / 10)


def test_the_folder_has_the_keys_of_a_real_lerobot_data_set(tmp_path, shared_data):
    write(tmp_path / "data", make_spec())
    real = shared_data / "pusht_lerobot_v30" / "meta"
    ours = tmp_path / "data" / "meta"
    theirs_info, our_info = (json.loads((m / "info.json").read_text()) for m in (real, ours))
    assert our_info.keys() == theirs_info.keys()
    for key in ("codebase_version", "chunks_size", "data_path", "video_path"):
        assert our_info[key] == theirs_info[key]
    for name in ("timestamp", "frame_index", "episode_index", "index", "task_index", "next.done", "next.success"):
        assert {k: our_info["features"][name][k] for k in ("dtype", "shape")} == {
            k: theirs_info["features"][name][k] for k in ("dtype", "shape")
        }
    schemas = [pq.read_schema(m / "episodes" / "chunk-000" / "file-000.parquet") for m in (real, ours)]
    renamed = {n.replace("observation.image/", f"{KEY}/") for n in schemas[0].names}
    video_or_plain = {n for n in renamed if not n.startswith("stats/") or n.startswith(f"stats/{KEY}/")}
    assert video_or_plain <= set(schemas[1].names)
    tasks = [pq.read_table(m / "tasks.parquet") for m in (real, ours)]
    assert tasks[0].schema.names == tasks[1].schema.names
    assert json.loads(tasks[1].schema.metadata[b"pandas"])["index_columns"] == ["__index_level_0__"]


def test_statistics_are_those_of_the_numbers(tmp_path):
    spec = make_spec()
    episodes = write(tmp_path / "data", spec)
    stats = json.loads((tmp_path / "data" / "meta" / "stats.json").read_text())
    proprio = np.concatenate([e.proprio for e in episodes]).astype(np.float64)
    got = stats["observation.state"]
    assert got["mean"] == pytest.approx(proprio.mean(0))
    assert got["std"] == pytest.approx(proprio.std(0))
    assert got["q01"] == pytest.approx(np.quantile(proprio, 0.01, axis=0))
    assert got["count"] == [sum(LENGTHS)]
    pixels = np.concatenate([e.frames for e in episodes]).reshape(-1, 3) / 255
    assert np.ravel(stats[KEY]["mean"]) == pytest.approx(pixels.mean(0))
    assert np.ravel(stats[KEY]["std"]) == pytest.approx(pixels.std(0))
    assert np.ravel(stats[KEY]["q50"]) == pytest.approx(np.quantile(pixels, 0.5, axis=0), abs=0.02)
    assert np.shape(stats[KEY]["max"]) == (3, 1, 1)


def test_a_growing_folder_opens_after_every_shard(tmp_path):
    spec, root = make_spec(), tmp_path / "data"
    episodes = [make_episode(spec, i, 6) for i in range(4)]
    writer = DatasetWriter(root, spec)
    for i, episode in enumerate(episodes):
        part = tmp_path / f"part-{i}"
        part.mkdir()
        with ShardWriter(part, spec, i, i) as shard:
            shard.add(episode)
        writer.commit(part)
        dataset = read_dataset(root)
        assert len(dataset) == i + 1
        assert_same(dataset[i], episode)
        assert (root / "meta" / "stats.json").exists()
    again = DatasetWriter(root, spec)
    assert (again.shards, again.episodes, again.frames) == (4, 4, 24)


def test_an_episode_of_another_shape_is_refused(tmp_path):
    small, large = make_spec(), make_spec(size=(32, 32))
    with ShardWriter(tmp_path, small, 0, 0) as shard:
        shard.add(make_episode(small, 0, 4))
        with pytest.raises(InputError, match=r"frames \(32, 32, 3\)"):
            shard.add(make_episode(large, 1, 4))
        with pytest.raises(InputError, match="no transition"):
            shard.add(make_episode(small, 1, 1))


def test_several_cameras_have_a_video_each_and_are_one_canvas_in_memory(tmp_path):
    spec, root = make_spec(wrist=[(24, 16)]), tmp_path / "data"
    episodes = write(root, spec)
    videos = sorted(p.parent.parent.name for p in root.rglob("file-000.mp4"))
    assert videos == ["observation.images.top", "observation.images.wrist"]
    shapes = {k: f["shape"] for k, f in json.loads((root / "meta/info.json").read_text())["features"].items()}
    assert shapes[KEY] == [24, 40, 3]
    assert shapes["observation.images.wrist"] == [24, 16, 3]
    stats = json.loads((root / "meta/stats.json").read_text())
    for key, part in ((KEY, np.s_[:, :, :40]), ("observation.images.wrist", np.s_[:, :, 40:])):
        pixels = np.concatenate([e.frames[part].reshape(-1, 3) for e in episodes]) / 255
        assert np.ravel(stats[key]["mean"]) == pytest.approx(pixels.mean(0))
    dataset = read_dataset(root)
    for i in np.random.default_rng(0).integers(0, 7, 15):
        assert dataset[int(i)].frames.shape[1:] == (24, 56, 3)
        assert_same(dataset[int(i)], episodes[i])


def test_an_exchanged_video_of_another_camera_is_noticed(tmp_path):
    root = tmp_path / "data"
    write(root, make_spec(wrist=[(24, 16)]))
    place = "chunk-000/file-000.mp4"
    shutil.copy(root / "videos" / KEY / place, root / "videos" / "observation.images.wrist" / place)
    with pytest.raises(DataError, match=r"episode 0: .*40 x 24, not 16 x 24"):
        read_dataset(root)[0]


def test_tasks_and_the_simulators_own_state_come_back(tmp_path):
    tasks = ("open the drawer", "close the drawer", "put the bowl on the plate")
    spec = dataclasses.replace(make_spec(), tasks=tasks, simulation_width=5)
    episodes = write(tmp_path / "data", spec)
    dataset = read_dataset(tmp_path / "data")
    assert dataset.tasks == list(tasks)
    assert dataset.info["total_tasks"] == 3
    for read, written in zip(dataset, episodes, strict=True):
        assert_same(read, written)
        assert read.simulation.dtype == np.float64
    assert [e.task for e in dataset] == [0, 1, 2, 0, 1, 2, 0]
    table = pq.read_table(tmp_path / "data/meta/episodes/chunk-000/file-000.parquet")
    assert table["tasks"].to_pylist() == [[tasks[0]], [tasks[1]], [tasks[2]]]


def test_an_episode_of_an_unknown_task_is_refused(tmp_path):
    spec = make_spec()
    with ShardWriter(tmp_path, spec, 0, 0) as shard:
        shard.add(make_episode(spec, 0, 4))
        with pytest.raises(InputError, match="of task 1 but the data set has 1"):
            shard.add(dataclasses.replace(make_episode(spec, 1, 4), task=1))
