"""Windows as IRASim publishes them."""

import numpy as np
import pytest

from world_model.data.readers.poses import relative_poses
from world_model.data.readers.registry import open_reader
from world_model.data.readers.windows import RULES, PublishedWindows, WindowRule, window_starts
from world_model.errors import InputError


def test_starts_slide_in_training_and_jump_in_validation():
    assert window_starts(18, RULES["train"]) == [0, 1, 2]
    assert window_starts(40, RULES["val"]) == [0, 16]
    assert window_starts(48, RULES["test"]) == [0, 16, 32]
    assert window_starts(15, RULES["train"]) == []


def test_an_interval_and_a_history_move_the_starts():
    assert window_starts(33, WindowRule(interval=2)) == [0, 1, 2]
    assert window_starts(16, WindowRule(history=3)) == [-2, -1, 0]
    with pytest.raises(InputError, match="no window"):
        WindowRule(frames=1)


def test_language_table_counts_actions(shared_data):
    reader = open_reader(shared_data / "language_table_irasim")
    windows = PublishedWindows(reader, RULES["train"])
    assert [w.first for w in windows] == [0, 1]  # 17 actions: 18 frames would give three
    episode = reader[0]
    assert np.array_equal(windows[1].frames, episode.frames[1:17])
    assert np.array_equal(windows[1].actions, episode.actions[1:16])
    assert len(PublishedWindows(reader, RULES["test"], "test")) == 1
    assert len(PublishedWindows(reader, RULES["val"], "val")) == 0
    with pytest.raises(InputError, match="interval 1"):
        PublishedWindows(reader, WindowRule(accumulate=True))


def test_droid_windows_take_their_actions_from_the_frames_that_are_kept(make):
    reader = open_reader(make("droid"))
    episode = reader[0]
    window = PublishedWindows(reader, WindowRule(frames=5, interval=3))[2]
    poses = episode.proprio[2:15:3]
    assert np.array_equal(window.frames, episode.frames[2:15:3])
    assert np.array_equal(window.actions[:, 0], relative_poses(poses))
    summed = PublishedWindows(reader, WindowRule(frames=5, accumulate=True))[0]
    assert np.array_equal(summed.actions[:, 0], relative_poses(episode.proprio[:5], accumulate=True))


def test_history_before_the_episode_is_its_first_frame_at_rest(make):
    reader = open_reader(make("bridge-mp4-npz"))
    episode, window = reader[0], PublishedWindows(reader, WindowRule(frames=6, history=3))[0]
    assert window.first == -2
    assert all(np.array_equal(window.frames[i], episode.frames[0]) for i in range(3))
    assert not window.actions[:2].any()
    assert np.array_equal(window.actions[2:], episode.actions[:3])
