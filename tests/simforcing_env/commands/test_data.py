"""`simforcing data inspect` and `data convert` on real files, and what training finds in what they write."""

import json
import shutil

import numpy as np
import pytest
from PIL import Image

from simforcing_env.commands.main import main
from world_model.data.lerobot.reader import read_dataset
from world_model.data.readers.base import View
from world_model.data.readers.registry import open_reader
from world_model.data.readers.samples import make_sample


@pytest.fixture
def sample(shared_data, tmp_path):
    def made(name):
        (folder := tmp_path / name).mkdir()
        make_sample(name, shared_data, folder)
        return folder

    return made


def run(*words):
    return main([str(word) for word in words])


def test_inspect_tells_what_is_inside(sample, tmp_path, capsys):
    folder, sheet, found = sample("bridge-mp4-npz"), tmp_path / "sheet.png", tmp_path / "found.json"
    assert run("data", "inspect", folder, "--sheet", sheet, "--json", found) == 0
    text = capsys.readouterr().out
    for expected in ("layout mp4-npz, 2 episodes", "rgb 256 x 256", "5 frames/s", "move_x", "20 frames/s; Bridge"):
        assert expected in text
    (report,) = json.loads(found.read_text())
    assert report["lengths"] == [31, 27]
    assert sum(report["actions"][0]["histogram"]) == 56
    assert report["contract"]["cameras"][0]["name"] == "rgb"
    assert report["problems"] == []
    with Image.open(sheet) as image:
        assert image.height > 2 * 96
        assert np.asarray(image.convert("RGB")).std() > 20


def test_inspect_finds_damaged_episodes_and_goes_on(sample, tmp_path, capsys):
    folder = sample("bridge-mp4-npz")
    (folder / "000000007.mp4").write_bytes(b"version https://git-lfs.github.com/spec/v1\n")
    with pytest.raises(SystemExit) as end:
        run("data", "inspect", folder)
    assert end.value.code == 1
    text = capsys.readouterr().out
    assert "PROBLEM   episode 000000007: " in text
    assert "is a Git LFS pointer" in text
    assert "pictures of 1 episodes read" in text


def test_inspect_of_several_sets_goes_on_after_one_that_cannot_be_opened(sample, shared_data, tmp_path, capsys):
    shutil.copytree(sample("bridge-mp4-npz"), tmp_path / "sets/whole")
    shutil.copytree(shared_data / "bad_inputs/lerobot_v21_libero_meta_only", tmp_path / "sets/meta_only")
    with pytest.raises(SystemExit) as end:
        run("data", "inspect", tmp_path / "sets", "--json", tmp_path / "found.json")
    assert end.value.code == 1
    text = capsys.readouterr().out
    assert "whole: layout mp4-npz, 2 episodes" in text
    assert "meta_only: layout lerobot-v2\n  PROBLEM   episode 0: " in text
    assert "episode_000000.parquet is missing; check the path" in text
    whole, broken = json.loads((tmp_path / "found.json").read_text())
    assert (whole["problems"], len(broken["problems"])) == ([], 1)


def test_inspect_of_nothing(tmp_path, capsys):
    assert run("data", "inspect", tmp_path) == 2
    assert "holds no data set of a layout known here" in capsys.readouterr().err


def test_convert_makes_data_sets_that_training_reads(sample, tmp_path, capsys):
    folder, out = sample("bridge-rlds"), tmp_path / "out"
    words = ("data", "convert", folder, out, "--size", "32x48", "--cameras", "image_0", "--split", "order")
    assert run(*words) == 0
    parts = {name: read_dataset(out / name) for name in ("train", "val", "test")}
    assert [len(part) for part in parts.values()] == [4, 1, 1]
    assert len({part.contract.hash for part in parts.values()}) == 1
    reader = open_reader(folder, view=View((32, 48), ("image_0",)))
    whole = [episode for part in parts.values() for episode in part]
    for index, episode in enumerate(whole):
        assert np.array_equal(episode.frames, reader[index].frames)
        assert np.array_equal(episode.actions, reader[index].actions)
        assert np.array_equal(episode.proprio, reader[index].proprio)
        assert np.array_equal(episode.labels["reward"], reader[index].labels["reward"])
        assert episode.start == reader.names[index]
    words_of = parts["train"].tasks[whole[0].task]
    assert words_of == reader.numbers(0).task
    # Every action is within the contract, which training and environments check.
    for episode in whole:
        parts["train"].contract.check_actions(episode.actions, 3)
    assert run(*words) == 0  # the same command again finds all there
    assert len(read_dataset(out / "train")) == 4
    assert run("data", "inspect", out / "train") == 0


def test_convert_leaves_out_what_is_damaged_only_when_told(sample, tmp_path, capsys):
    folder = sample("bridge-mp4-npz")
    data = bytearray((folder / "000000007.npz").read_bytes())
    data[200] ^= 255
    (folder / "000000007.npz").write_bytes(bytes(data))
    assert run("data", "convert", folder, tmp_path / "a", "--size", "16") == 2
    message = capsys.readouterr().err
    assert "episode 000000007: " in message
    assert "--skip-damaged" in message
    assert run("data", "convert", folder, tmp_path / "a", "--size", "16", "--skip-damaged") == 0
    assert "left out: episode 000000007" in capsys.readouterr().err
    assert len(read_dataset(tmp_path / "a")) == 1


def test_convert_names_an_episode_of_one_frame(sample, tmp_path, capsys):
    assert run("data", "convert", sample("so101-lerobot-v2"), tmp_path / "out", "--size", "24x32") == 0
    assert "left out: episode 1 has 1 frame and no action" in capsys.readouterr().err
    dataset = read_dataset(tmp_path / "out")
    assert (len(dataset), dataset.contract.frame_hz) == (1, 30.0)


def test_convert_to_other_layouts_says_what_is_lost_and_refuses(sample, tmp_path, capsys):
    folder = sample("pusht-zarr")
    assert run("data", "convert", folder, tmp_path / "v2", "--to", "lerobot-v2") == 0
    assert "holds no privileged state" in capsys.readouterr().err
    assert open_reader(tmp_path / "v2").layout == "lerobot-v2"
    assert run("data", "convert", folder, tmp_path / "v2", "--to", "lerobot-v2") == 2
    assert "not empty" in capsys.readouterr().err
    assert run("data", "convert", folder, tmp_path / "npz", "--to", "mp4-npz") == 2
    assert "one action of 7 numbers" in capsys.readouterr().err
    assert not (tmp_path / "npz").exists()
    assert run("data", "convert", folder, tmp_path / "x", "--size", "big") == 2
    assert "--size is 'big'" in capsys.readouterr().err


def test_convert_of_files_without_pictures_names_the_way(shared_data, tmp_path, capsys):
    assert run("data", "convert", shared_data / "robosuite_teleop", tmp_path / "x") == 2
    assert "data import" in capsys.readouterr().err


def test_fuzz_goes_on_from_its_ledger(shared_data, tmp_path, capsys):
    ledger, results = tmp_path / "ledger.jsonl", tmp_path / "fuzz.json"
    words = ("bench", "fuzz", "--shared", shared_data, "--samples", "rt1", "--ledger", ledger, "--json", results)
    assert run(*words, "--mutations", 2) == 0
    first = ledger.read_text()
    assert run(*words, "--mutations", 3) == 0
    assert ledger.read_text().startswith(first)
    assert len(ledger.read_text().splitlines()) == 3
    metrics = json.loads(results.read_text())["metrics"]
    assert metrics["mutations"]["value"] == 3
    assert metrics["unclear_errors"]["value"] == metrics["hangs"]["value"] == 0
    assert results.with_suffix(".csv").read_text().splitlines()[1].startswith("rt1,npz,3,")
    assert run("bench", "fuzz", "--shared", tmp_path / "gone", "--ledger", ledger) == 2
    assert run("bench", "fuzz", "--shared", shared_data, "--samples", "nothing", "--ledger", ledger) == 2
