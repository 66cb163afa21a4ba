"""Damaged, foreign and incomplete folders: one sentence that names file and episode."""

import dataclasses
import json
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.world_model.data.lerobot.folders import make_spec, write
from world_model.data.lerobot.reader import read_dataset
from world_model.errors import ContractError, DataError

VIDEO = "videos/observation.images.top/chunk-000/file-001.mp4"
DATA = "data/chunk-000/file-001.parquet"


@pytest.fixture
def root(tmp_path):
    write(tmp_path / "data", make_spec())
    return tmp_path / "data"


def test_a_truncated_video_names_file_and_episode_and_spares_the_others(root):
    video = root / VIDEO
    raw = video.read_bytes()
    dataset = read_dataset(root)
    for cut in (len(raw) // 2, 100):
        video.write_bytes(raw[:cut])
        with pytest.raises(DataError, match=r"episode 4: .*file-001\.mp4"):
            dataset[4]
    assert len(dataset[0]) == 13
    video.write_bytes(raw)
    assert len(dataset[4]) == 9


def test_a_video_damaged_inside_is_noticed(root):
    video = root / VIDEO
    raw = bytearray(video.read_bytes())
    middle = len(raw) // 3
    raw[middle : middle + 4000] = bytes(4000)
    video.write_bytes(raw)
    dataset = read_dataset(root)
    with pytest.raises(DataError, match=r"file-001\.mp4"):
        list(dataset)


def test_a_video_that_is_too_short_is_noticed(root):
    shutil.copy(root / "videos/observation.images.top/chunk-000/file-002.mp4", root / VIDEO)  # 5 frames instead of 46
    with pytest.raises(DataError, match=r"episode 5: .*file-001\.mp4 ends after 0 of 30"):
        read_dataset(root)[5]


@pytest.mark.parametrize("name", [VIDEO, DATA])
def test_a_missing_file_is_named(root, name):
    (root / name).unlink()
    with pytest.raises(DataError, match=name.rpartition("/")[2].replace(".", r"\.") + " is missing"):
        read_dataset(root)[3]


@pytest.mark.parametrize("name", [VIDEO, DATA, "meta/info.json", "meta/episodes/chunk-000/file-000.parquet"])
def test_a_git_lfs_pointer_is_recognised(root, name):
    (root / name).write_text("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1234\n")
    with pytest.raises(DataError, match="git lfs pull"):
        read_dataset(root)[3]


def test_the_real_lfs_pointer_is_recognised(root, shared_data):
    pointer = next((shared_data / "bad_inputs" / "lerobot_v21_lfs_pointer" / "videos").rglob("*.mp4"))
    shutil.copyfile(pointer, root / VIDEO)
    with pytest.raises(DataError, match="Git LFS pointer"):
        read_dataset(root)[3]


def test_truncated_and_foreign_tables_are_named(root, shared_data):
    raw = (root / DATA).read_bytes()
    (root / DATA).write_bytes(raw[: len(raw) // 2])
    with pytest.raises(DataError, match=r"file-001\.parquet is cut off"):
        read_dataset(root)[3]
    for file in sorted((shared_data / "bad_inputs" / "parquet_testing").glob("*.parquet")):
        shutil.copyfile(file, root / DATA)
        with pytest.raises(DataError, match=r"file-001\.parquet"):
            read_dataset(root)[3]


def test_a_table_of_other_episodes_is_noticed(root):
    shutil.copy(root / "data/chunk-000/file-000.parquet", root / DATA)
    with pytest.raises(DataError, match=r"episode 3 is not whole in .*file-001\.parquet"):
        read_dataset(root)[3]


def test_missing_tables_of_episodes_are_noticed(root):
    (root / "meta/episodes/chunk-000/file-001.parquet").unlink()
    with pytest.raises(DataError, match="7 episodes"):
        read_dataset(root)


def test_other_formats_and_no_data_sets_are_refused(root, shared_data, tmp_path):
    with pytest.raises(DataError, match=r"'v2\.1'"):
        read_dataset(shared_data / "bad_inputs" / "lerobot_v21_libero_meta_only")
    with pytest.raises(DataError, match=r"info\.json is missing"):
        read_dataset(tmp_path / "nothing")
    (root / "meta/info.json").write_text("{")
    with pytest.raises(DataError, match=r"info\.json is not readable"):
        read_dataset(root)


def test_another_contract_is_refused_with_the_field(root):
    contract = make_spec().contract
    with pytest.raises(ContractError, match="control_hz"):
        read_dataset(root, dataclasses.replace(contract, control_hz=20.0))


def test_a_folder_without_a_contract_needs_one(root):
    (root / "meta/contract.json").unlink()
    with pytest.raises(DataError, match=r"contract\.json"):
        read_dataset(root)
    assert len(read_dataset(root, make_spec().contract)) == 7
    with pytest.raises(ContractError, match=r"observation\.images\.top of shape"):
        read_dataset(root, make_spec(size=(64, 64)).contract)
    with pytest.raises(ContractError, match="frames/s"):
        read_dataset(root, make_spec(hz=5.0).contract)


def test_features_that_contradict_the_contract_are_refused(root):
    info = json.loads((root / "meta/info.json").read_text())
    info["features"]["action"]["shape"] = [7]
    (root / "meta/info.json").write_text(json.dumps(info))
    with pytest.raises(ContractError, match="action of shape"):
        read_dataset(root)


def test_damaged_features_are_refused(root):
    info = json.loads((root / "meta/info.json").read_text())
    for damaged in ("none", [1], {"action": 3}):
        (root / "meta/info.json").write_text(json.dumps(info | {"features": damaged}))
        with pytest.raises(DataError, match=r"info\.json has damaged features"):
            read_dataset(root)


@pytest.mark.parametrize("name", ["action", "observation.state", "task_index"])
def test_a_missing_column_is_named(root, name):
    pq.write_table(pq.read_table(root / DATA).drop_columns([name]), root / DATA)
    with pytest.raises(DataError, match=rf"file-001\.parquet has no column {name}"):
        read_dataset(root)[3]


@pytest.mark.parametrize("name", ["action", "observation.state"])
def test_numbers_that_are_none_are_refused(root, name):
    table = pq.read_table(root / DATA)
    place = table.schema.get_field_index(name)
    good = np.array(table[name].to_pylist(), np.float32)
    bad = good.copy()
    bad[2] = np.nan
    for values in (bad, np.concatenate([good, good], 1)):
        column = pa.array(values.tolist(), pa.list_(pa.float32()))
        pq.write_table(table.set_column(place, name, column), root / DATA)
        with pytest.raises(DataError, match=rf"episode 3: {name} in .*file-001\.parquet is not \d+ finite numbers"):
            read_dataset(root)[3]


def test_a_damaged_contract_is_named(root):
    for damaged in (b"{", b"\xff\xfe"):
        (root / "meta/contract.json").write_bytes(damaged)
        with pytest.raises(ContractError, match=r"contract\.json: "):
            read_dataset(root)
