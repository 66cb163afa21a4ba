"""Recorded pairs: equal episodes on both sides, a manifest that knows them, damage that is found."""

import json
import shutil

import numpy as np
import pytest

pytest.importorskip("gym_pusht")
pytest.importorskip("mujoco")

from simforcing_env.commands import pairs as command
from simforcing_env.pair_pictures import contact_sheet
from teachers.appearance.paired import play
from teachers.appearance.recording import actions_hash, appearance_seed, record_pairs
from teachers.appearance.worlds import make_paired, make_sim
from teachers.collection import Job, collect
from world_model.data.lerobot.reader import read_dataset
from world_model.data.pairs import pair_hash, read_pairs
from world_model.errors import DataError, InputError
from world_model.training.sources import open_source


def quiet(done, total):
    pass


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    out = tmp_path_factory.mktemp("source") / "data"
    job = Job("pusht", "validation", 3, None, {"size": 32, "behaviours": ("push", "careful")}, 2, episodes=3)
    collect(job, out, 1, quiet)
    return out


@pytest.fixture(scope="module")
def folder(source, tmp_path_factory, drawing):
    return record_pairs(source, tmp_path_factory.mktemp("pairs") / "pairs", 5, 1, quiet, per_shard=2)


def test_both_sides_hold_the_same_episodes(source, folder):
    pairs, recorded = read_pairs(folder), read_dataset(source)
    assert (len(pairs), pairs.world, pairs.source) == (3, "pusht", "real")
    for number, entry in enumerate(pairs.entries):
        pair, original = pairs[number], recorded[number]
        assert np.array_equal(pair.real.frames, original.frames)
        assert np.array_equal(pair.sim.actions, original.actions)
        assert pair.sim.start == original.start == entry["start"]
        assert pair.sim.behaviour == original.behaviour
        assert (entry["length"], entry["seed"]) == (len(pair), appearance_seed(5, number))
        assert entry["hash"] == pair_hash(pair.sim.start, pair.actions)
        assert np.median(np.abs(pair.sim.state - pair.real.state)) < 1
    assert read_dataset(folder / "sim").contract == recorded.contract


def test_a_recorded_pair_is_what_the_paired_teacher_plays(folder):
    pair = read_pairs(folder)[1]
    played = make_paired("pusht", read_pairs(folder).contract).play(pair.sim.start, pair.actions)
    assert np.array_equal(played.sim.frames, pair.sim.frames)
    assert np.array_equal(played.sim.state, pair.sim.state)


def test_running_again_changes_nothing_and_other_episodes_are_refused(source, folder, tmp_path):
    before = (folder / "pairs.json").read_text()
    record_pairs(source, folder, 5, 1, quiet, per_shard=2)
    assert (folder / "pairs.json").read_text() == before
    with pytest.raises(DataError, match="seed 5, not 6"):
        record_pairs(source, folder, 6, 1, quiet, per_shard=2)
    other = tmp_path / "other"
    collect(Job("pusht", "validation", 4, None, {"size": 32, "behaviours": ("push",)}, 2, episodes=1), other, 1, quiet)
    with pytest.raises(DataError, match="holds other episodes"):
        record_pairs(other, folder, 5, 1, quiet)
    assert actions_hash(read_dataset(other)) != actions_hash(read_dataset(source))


def test_the_first_episodes_alone_have_a_counterpart(source, folder, tmp_path):
    """The source's side keeps them all; what is played again is the same as of a longer run."""
    few = record_pairs(source, tmp_path / "few", 5, 1, quiet, per_shard=2, episodes=2)
    pairs, every = read_pairs(few), read_pairs(folder)
    assert (len(pairs), len(pairs.sim), len(pairs.real)) == (2, 2, 3)
    assert np.array_equal(pairs[1].sim.frames, every[1].sim.frames)
    assert open_source(few, "real").counts()["episodes"] == 3
    assert open_source(few, "pairs").counts()["frames"] == len(pairs[0]) + len(pairs[1])
    shutil.rmtree(few / "sim")
    shutil.copytree(folder / "sim", few / "sim")
    with pytest.raises(DataError, match="lists 2 pairs but there are 3 episodes in sim and 3 in real"):
        read_pairs(few)


def test_damage_is_named(folder, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    manifest = json.loads((copy / "pairs.json").read_text())
    manifest["pairs"][1]["hash"] = "0" * 16
    (copy / "pairs.json").write_text(json.dumps(manifest))
    assert len(read_pairs(copy)[0]) > 10
    with pytest.raises(DataError, match=r"episode 1 of .*sim is not the one of the pair"):
        read_pairs(copy)[1]
    (copy / "pairs.json").write_text(json.dumps({**manifest, "pairs": manifest["pairs"][:2]}))
    with pytest.raises(DataError, match="lists 2 pairs but there are 3 episodes"):
        read_pairs(copy)
    (copy / "pairs.json").write_text(json.dumps({**manifest, "version": 9}))
    with pytest.raises(DataError, match="is of version 9, not 1"):
        read_pairs(copy)
    (copy / "pairs.json").write_text("[1")
    with pytest.raises(DataError, match="is not a manifest of pairs"):
        read_pairs(copy)
    (copy / "pairs.json").unlink()
    with pytest.raises(DataError, match="simforcing pairs"):
        read_pairs(copy)


def test_a_recording_that_goes_on_is_refused(source, tmp_path):
    growing = tmp_path / "growing"
    shutil.copytree(source, growing)
    (growing / ".staging").mkdir()
    with pytest.raises(DataError, match="still being recorded"):
        record_pairs(growing, tmp_path / "out", 0, 1, quiet)
    assert not (tmp_path / "out").exists()


def test_the_sim_domain_alone_is_recorded_and_is_no_source_of_pairs(tmp_path, drawing):
    out = tmp_path / "sim"
    collect(
        Job("pusht-mujoco", "validation", 3, None, {"size": 32, "behaviours": ("careful",)}, 2, episodes=1),
        out,
        1,
        quiet,
    )
    episode = read_dataset(out)[0]
    replayed = play(make_sim("pusht", read_dataset(out).contract), episode.start, episode.actions)
    assert np.array_equal(episode.frames, replayed.frames)
    assert np.array_equal(episode.state, replayed.state)
    with pytest.raises(InputError, match=r"was recorded from 'pusht-mujoco'.* record 'pusht' first"):
        record_pairs(out, tmp_path / "pairs", 0, 1, quiet)


def test_the_command_says_where_and_draws(source, folder, tmp_path, capsys):
    picture = tmp_path / "sheet.png"
    command.run(command.Config(source, folder, seed=5, workers=1, episodes_per_file=2, picture=picture))
    assert f"{folder}: 3 pairs" in capsys.readouterr().out
    assert picture.stat().st_size > 2000
    sheet = contact_sheet(read_pairs(folder)[:1], moments=4)
    assert sheet.shape == (2 * 32 + 1, 4 * 32 + 3 * 2, 3)
