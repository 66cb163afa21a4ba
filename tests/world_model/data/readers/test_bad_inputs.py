"""Real broken files, and what real data sets have been seen to do wrong."""

import json
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from world_model.data.readers.registry import find_sets, open_reader
from world_model.errors import DataError

BAD = ("ARROW-GH-41317", "ARROW-GH-45185", "ARROW-GH-47662", "ARROW-RS-GH-6229-DICTHEADER", "PARQUET-1481")
V3_TABLES = ("meta/episodes/chunk-000/file-000.parquet", "data/chunk-000/file-000.parquet")


@pytest.fixture
def copy(make, tmp_path):
    def copied(name):
        shutil.copytree(make(name), tmp_path / name)
        return tmp_path / name

    return copied


def info(folder, **changes):
    path = folder / "meta" / "info.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def sentence(folder, index=0):
    """The error of reading an episode, which names the folder and says what to do."""
    with pytest.raises(DataError) as caught:
        open_reader(folder)[index]
    text = str(caught.value)
    assert str(folder) in text
    assert "; " in text
    assert "\n" not in text
    return text


@pytest.mark.parametrize("name", BAD)
def test_a_corrupt_table_by_itself(shared_data, name):
    with pytest.raises(DataError, match=f"{name}.parquet cannot be read .*; it is damaged"):
        find_sets(shared_data / "bad_inputs" / "parquet_testing" / f"{name}.parquet")


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("place", V3_TABLES)
def test_a_corrupt_table_in_a_data_set(shared_data, copy, name, place):
    folder = copy("pusht-lerobot-v3")
    shutil.copy(shared_data / "bad_inputs" / "parquet_testing" / f"{name}.parquet", folder / place)
    text = sentence(folder)
    assert place in text
    assert "episode 0" in text or place == V3_TABLES[0]


def test_a_folder_of_stray_tables_is_no_data_set(shared_data):
    with pytest.raises(DataError, match="holds no data set"):
        find_sets(shared_data / "bad_inputs" / "parquet_testing")
    with pytest.raises(DataError, match="does not exist"):
        find_sets(shared_data / "nothing")


def test_metadata_alone(shared_data):
    folder = shared_data / "bad_inputs" / "lerobot_v21_libero_meta_only"
    assert r"episode_000000.parquet is missing" in sentence(folder)


def test_a_pointer_in_the_place_of_a_video(shared_data):
    folder = shared_data / "bad_inputs" / "lerobot_v21_lfs_pointer"
    assert "episode 0: " in sentence(folder)
    told = open_reader(folder).missing(0)
    assert any("episode_000000.parquet is missing" in t for t in told)
    assert any("episode_000000.mp4 is a Git LFS pointer" in t and "git lfs pull" in t for t in told)


def test_a_set_without_its_tables(shared_data):
    folder = shared_data / "lerobot_v21_so101_chess"
    assert "episode 4: " in sentence(folder, 4)


def test_counts_that_contradict_each_other(copy):
    folder = copy("so101-lerobot-v2")
    info(folder, total_episodes=1, total_videos=40, splits={"train": "0:40"})
    warnings = " ".join(open_reader(folder).warnings)
    assert "tells of 1 episodes but 2 are listed" in warnings
    assert "40 videos where 2 are due" in warnings
    assert "'0:40', which does not fit 2 episodes" in warnings
    info(folder, total_episodes=39)
    assert "39 episodes but the metadata list 2" in sentence(folder)


def test_other_templates_shapes_types_and_names(copy):
    """As seen in a real set: {chunk_index}, channels first, float64 lists, no index columns, a file without ending."""
    folder = copy("so101-lerobot-v2")
    before = open_reader(folder)[0]
    features = json.loads((folder / "meta/info.json").read_text())["features"]
    video = features["observation.images.follower_wrist"]
    video["shape"], video["info"] = [3, 480, 640], None
    data = "data/chunk-{chunk_index:03d}/episode_{episode_index:06d}.parquet"
    info(folder, features=features, data_path=data)
    path = folder / "data/chunk-000/episode_000000.parquet"
    table = pq.read_table(path)
    lists = {n: pa.array(table.column(n).to_pylist(), pa.list_(pa.float64())) for n in ("action", "observation.state")}
    pq.write_table(pa.table(lists), path)
    path.rename(path.with_suffix(""))
    after = open_reader(folder)[0]
    assert np.array_equal(after.actions, before.actions)
    assert np.array_equal(after.frames, before.frames)


def test_bounds_without_statistics_are_those_of_the_tables(copy):
    folder = copy("so101-lerobot-v2")
    (folder / "meta/episodes_stats.jsonl").unlink()
    reader = open_reader(folder)
    low = reader.contract.action_bounds()[0]
    assert np.allclose(low, np.concatenate([reader.numbers(i).actions for i in range(2)]).min((0, 1)), atol=30)
    assert any("no statistics tell the bounds" in w for w in reader.warnings)


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ("timestamp", 1.7e9 + np.arange(12) / 30, "wall clock"),
        ("timestamp", np.arange(12) / 20, "off by half a frame"),
    ],
)
def test_clocks_that_lie_are_warned_of(copy, column, values, message):
    folder = copy("so101-lerobot-v2")
    replace_column(folder, column, values)
    reader = open_reader(folder)
    reader.numbers(0)
    assert any(message in w for w in reader.warnings)


def test_rows_of_another_episode_nan_and_none(copy):
    folder = copy("so101-lerobot-v2")
    replace_column(folder, "episode_index", np.full(12, 7))
    assert "rows of episodes ['7']" in sentence(folder)
    replace_column(folder, "episode_index", pa.array([None] * 12, pa.int64()))
    assert "['None']" in sentence(folder)
    replace_column(folder, "episode_index", np.zeros(12, np.int64))
    bad = np.zeros((12, 6), np.float32)
    bad[3, 2] = np.nan
    replace_column(folder, "action", pa.FixedSizeListArray.from_arrays(pa.array(bad.ravel()), 6))
    assert "1 NaN or infinite actions" in sentence(folder)


def test_a_short_video_and_a_long_table(copy):
    folder = copy("so101-lerobot-v2")
    lines = [json.loads(line) for line in (folder / "meta/episodes.jsonl").read_text().splitlines()]
    lines[0]["length"] = 11
    (folder / "meta/episodes.jsonl").write_text("\n".join(map(json.dumps, lines)))
    assert "has 12 rows where the metadata tell of 11" in sentence(folder)
    lines[0]["length"] = 12
    (folder / "meta/episodes.jsonl").write_text("\n".join(map(json.dumps, lines)))
    video = folder / "videos/chunk-000/observation.images.follower_wrist"
    shutil.copy(video / "episode_000001.mp4", video / "episode_000000.mp4")
    assert "ends after 1 of 12 pictures" in sentence(folder)


def replace_column(folder, name, values):
    path = folder / "data/chunk-000/episode_000000.parquet"
    table = pq.read_table(path)
    array = values if isinstance(values, pa.Array) else pa.array(values)
    pq.write_table(table.set_column(table.column_names.index(name), name, array), path)


@pytest.mark.parametrize(
    ("sample", "file", "change", "message"),
    [
        ("droid", "annotation/val/199.json", lambda d: d.pop("states"), "none of the known ones"),
        ("droid", "annotation/val/199.json", lambda d: d["states"].pop(), "latents"),
        ("droid", "annotation/val/199.json", lambda d: d["states"][3].pop(), "cannot be read"),
        ("language-table", "annotation/test/example.json", lambda d: d.update(video_path="x.mp4"), "x.mp4 is missing"),
        ("bridge-rlds", "dataset_info.json", lambda d: d["splits"][0].update(shardLengths=["9"]), "of 9 episodes"),
        ("bridge-rlds", "features.json", lambda d: d.clear(), "features.json cannot be read"),
    ],
)
def test_json_that_does_not_fit(copy, sample, file, change, message):
    folder = copy(sample)
    loaded = json.loads((folder / file).read_text())
    change(loaded)
    (folder / file).write_text(json.dumps(loaded))
    with pytest.raises(DataError, match=message) as caught:
        open_reader(folder).latents(0)
    assert str(folder) in str(caught.value)


def test_a_pickle_in_the_place_of_latents_is_not_opened(copy):
    import torch

    folder = copy("droid")
    torch.save({"obs": print}, folder / "latent_videos/val/199/0.pt")
    with pytest.raises(DataError, match="more than tensors"):
        open_reader(folder).latents(0)
