"""Real episodes: what is read, how well the cameras fit, and that the drawn arm is where the filmed one is."""

import json

import numpy as np
import pytest

from teachers.replay.droid import read_episode
from teachers.replay.teacher import ReplayTeacher, droid_contract
from world_model.data.pairs import read_pairs
from world_model.errors import DataError, InputError
from world_model.extras import absent

NAME = "droid_new_setup/val/0006"


@pytest.fixture(scope="module")
def root(shared_data):
    folder = shared_data / "droid_ctrlworld"
    if not folder.is_dir():
        pytest.skip(f"no DROID episodes at {folder}")
    return folder


@pytest.fixture(scope="module")
def teacher(root):
    if absent("libero"):
        pytest.skip("robosuite is not installed: pip install '.[libero]'")
    from teachers.libero.gl import NoRendererError, backend

    try:
        backend()
    except NoRendererError as error:
        pytest.skip(str(error))
    return ReplayTeacher(root)


def test_logs_of_both_rates_are_read(root):
    thin, dense = read_episode(root, NAME), read_episode(root, "droid_subset/train/0")
    assert (len(thin), thin.frame_hz) == (41, 4.0)
    assert (len(dense), dense.frame_hz) == (56, 5.0)
    for episode in (thin, dense):
        assert episode.frames(1).shape == (len(episode), 192, 320, 3)
        assert episode.joints.shape == (len(episode), 7)
        assert 0 <= episode.gripper.min() <= episode.gripper.max() <= 1
    with pytest.raises(InputError, match=r"camera 2 of .* is not fixed"):
        thin.frames(2)


def test_unreadable_episodes(tmp_path):
    with pytest.raises(InputError, match="use SET/SPLIT/NUMBER"):
        read_episode(tmp_path, "0006")
    with pytest.raises(DataError, match="there is no"):
        read_episode(tmp_path, NAME)
    path = tmp_path / "droid_new_setup" / "annotation" / "val" / "0006.json"
    path.parent.mkdir(parents=True)
    for text, says in (("{", "not an annotation"), (json.dumps({"states": [[0] * 7]}), "not an annotation")):
        path.write_text(text)
        with pytest.raises(DataError, match=says):
            read_episode(tmp_path, NAME)
    videos = [{"video_path": "a.mp4"}]
    path.write_text(json.dumps({"states": [[0] * 7] * 5, "joints": [[0] * 8] * 9, "videos": videos, "texts": [""]}))
    with pytest.raises(DataError, match="has 5 states and joints"):
        read_episode(tmp_path, NAME)


def test_cameras_fit_the_key_points(teacher):
    assert len(teacher.names) == 6
    for name in teacher.names:
        fit = teacher.fit(name)
        assert fit.error_px < 2.0
        assert 100 < fit.camera.focal < 140
        held_out = teacher.held_out(name)
        assert held_out is None or held_out.error_px < 3.0
    with pytest.raises(InputError, match="has no key points"):
        teacher.fit("droid_new_setup/val/0001")


def test_the_drawn_arm_is_where_the_filmed_one_is(teacher):
    """The share of the drawn arm's moving parts that moves in the video; elsewhere or earlier it is smaller."""
    name = teacher.names[0]
    episode = teacher.episode(name)
    rows = np.arange(4, len(episode), 10)
    video = episode.frames(1).astype(np.float32)
    moved = (np.abs(video - np.median(video, axis=0)).max(-1) > 15)[rows]
    drawn = np.stack([teacher.draw(name, int(row))[1] for row in rows]) > 0
    arm = drawn & ~drawn.all(0)

    def agreement(later=0, aside=0):
        return (np.roll(arm, aside, axis=2) & np.roll(moved, later, axis=0)).sum() / arm.sum()

    assert agreement() > 0.7
    assert agreement() > 1.05 * max(agreement(later=1), agreement(later=-1))
    assert agreement() > 1.3 * max(agreement(aside=15), agreement(aside=-15))


@pytest.mark.slow
def test_pairs_are_recorded_from_real_episodes(root, teacher, tmp_path, capsys):
    from simforcing_env.commands import pairs_droid

    picture = tmp_path / "sheet.png"
    results = tmp_path / "cameras.json"
    pairs_droid.run(pairs_droid.Config(root, tmp_path / "pairs", json=results, picture=picture))
    metrics = json.loads(results.read_text())["metrics"]
    assert metrics["camera_px_0006"]["value"] == pytest.approx(teacher.fit(NAME).error_px)
    assert metrics["camera_px_0004_held_out"]["n"] == 3
    assert f"{NAME}: camera fits 10 key points within" in capsys.readouterr().out
    assert picture.stat().st_size > 10_000
    pairs = read_pairs(tmp_path / "pairs")
    assert (len(pairs), pairs.world, pairs.contract) == (6, "droid", droid_contract())
    number = teacher.names.index(NAME)
    pair, episode = pairs[number], teacher.episode(NAME)
    assert np.array_equal(pair.real.frames, episode.frames(1))
    assert pair.sim.frames.shape == pair.real.frames.shape
    assert np.array_equal(pair.sim.state[:, :7], episode.joints.astype(np.float32))
    assert pair.appearance["error_px"] == pytest.approx(teacher.fit(NAME).error_px)
    assert np.array_equal(pair.actions[:, 0], pair.real.proprio[1:])
