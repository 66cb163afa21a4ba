"""Windows, their grouping, and actions that are swapped or shifted."""

import numpy as np
import pytest

from world_model.data.episode import Episode
from world_model.errors import DataError, InputError
from world_model.metrics.clips import cut_clips, cut_windows, group_means, origin_of
from world_model.metrics.resampling import curve_over_groups, grouped_interval, mean_over_groups
from world_model.metrics.rollouts import shifted_actions, shuffled_actions


def episode(number, length):
    """Frames, proprio and actions that tell their episode and row."""
    rows = np.arange(length, dtype=np.float32)
    frames = np.zeros((length, 4, 4, 3), np.uint8)
    frames[:, 0, 0, 0], frames[:, 0, 0, 1] = number, rows
    both = np.stack([np.full(length, number, np.float32), rows], 1)
    return Episode(frames, both, both[:-1, None], both.astype(np.float64), {"row": rows}, f"seed-{number}")


def test_windows_lie_in_their_episode_and_share_no_generated_frame():
    episodes = [episode(0, 40), episode(1, 7), episode(2, 19)]
    for seed in range(20):
        clips = cut_clips(episodes, 3, 8, 3, np.random.default_rng(seed))
        assert clips.episode.tolist() == [0, 0, 0, 2, 2]  # the second one is too short, the third has room for two
        assert clips.horizon == 8
        assert clips.start == ("seed-0",) * 3 + ("seed-2",) * 2
        for i in range(len(clips)):
            rows = clips.first[i] + np.arange(11)
            np.testing.assert_array_equal(clips.frames[i, :, 0, 0, 1], rows)
            np.testing.assert_array_equal(clips.proprio[i, :, 1], rows)
            np.testing.assert_array_equal(clips.actions[i, :, 0, 1], rows[:-1])
            np.testing.assert_array_equal(clips.labels["row"][i], rows)
            np.testing.assert_array_equal(clips.last[i, 0, 0, 0, 1], rows[2])
            np.testing.assert_array_equal(clips.future[i, :, 0, 1], rows[2:-1])
        assert (np.diff(clips.first[:3]) >= 8).all()


def test_episodes_that_are_all_too_short_are_refused():
    with pytest.raises(DataError, match="11 frames"):
        cut_clips([episode(0, 10)], 3, 8, 1, np.random.default_rng(0))


def test_too_few_episodes_are_refused_with_their_number():
    episodes = [episode(0, 40), episode(1, 10)]
    with pytest.raises(DataError, match=r"1 episode has 11 frames, .* and at least 2 must; record more"):
        cut_clips(episodes, 3, 8, 1, np.random.default_rng(0), 2)
    assert len(cut_clips([*episodes, episode(2, 11)], 3, 8, 1, np.random.default_rng(0), 2)) == 2


def test_knowing_less_leaves_what_is_generated_alone():
    clips = cut_clips([episode(0, 40), episode(2, 30)], 3, 8, 2, np.random.default_rng(0))
    one = clips.knowing(1)
    assert (one.history, one.horizon) == (1, 8)
    for name in ("truth", "last", "future"):
        np.testing.assert_array_equal(getattr(one, name), getattr(clips, name))
    np.testing.assert_array_equal(one.first, clips.first + 2)
    np.testing.assert_array_equal(one.labels["row"], clips.labels["row"][:, 2:])
    assert one.state.shape[1] == one.proprio.shape[1] == one.actions.shape[1] + 1 == 9


def test_select_keeps_rows_together():
    clips = cut_clips([episode(0, 40), episode(2, 30)], 3, 8, 2, np.random.default_rng(0))
    chosen = clips.select(np.array([False, True, False, True]))
    assert chosen.episode.tolist() == [0, 1]
    np.testing.assert_array_equal(chosen.first, clips.first[[1, 3]])
    np.testing.assert_array_equal(chosen.frames, clips.frames[[1, 3]])


def test_swapped_actions_come_whole_from_other_episodes():
    episodes = [episode(n, 60) for n in range(5)]
    clips = cut_clips(episodes, 2, 10, 3, np.random.default_rng(0))
    for seed in range(20):
        swapped = shuffled_actions(clips, np.random.default_rng(seed))
        assert (swapped[:, 0, 0, 0] != clips.episode).all()
        assert (np.diff(swapped[:, :, 0, 1], axis=1) == 1).all()
        assert sorted(swapped[:, 0, 0, 0]) == sorted(clips.episode)
    with pytest.raises(InputError, match="one episode"):
        shuffled_actions(cut_clips(episodes[:1], 2, 10, 3, np.random.default_rng(0)), np.random.default_rng(0))


def test_actions_of_few_episodes_serve_twice():
    """Most windows are of one episode, as in held-out recordings of a real robot."""
    clips = cut_windows([episode(0, 60), episode(1, 12), episode(2, 24)], 2, 10, 12)
    assert clips.episode.tolist() == [0, 0, 0, 0, 0, 1, 2, 2]
    swapped = shuffled_actions(clips, np.random.default_rng(0))
    assert (swapped[:, 0, 0, 0] != clips.episode).all()
    assert (np.diff(swapped[:, :, 0, 1], axis=1) == 1).all()
    assert set(swapped[:5, 0, 0, 0]) == {1, 2}


def test_shifted_actions():
    clips = cut_clips([episode(0, 11)], 3, 8, 1, np.random.default_rng(0))
    rows = {s: shifted_actions(clips, s)[0, :, 0, 1].tolist() for s in (-1, 0, 1)}
    assert rows == {-1: [1, 2, 3, 4, 5, 6, 7, 8], 0: [2, 3, 4, 5, 6, 7, 8, 9], 1: [3, 4, 5, 6, 7, 8, 9, 9]}


def test_group_means_and_the_interval_over_groups():
    values, groups = np.array([1.0, 3.0, 10.0]), np.array([7, 7, 9])
    np.testing.assert_allclose(group_means(values, groups), [2, 10])
    low, high = grouped_interval(lambda rows: float(values[rows].mean()), groups, np.random.default_rng(0), 500)
    # Draws: (7, 7) gives 2, (9, 9) gives 10, one of each gives 14 / 3.
    assert (low, high) == (2.0, 10.0)
    assert grouped_interval(lambda rows: 1.0, groups[:2], np.random.default_rng(0)) == (None, None)
    assert grouped_interval(lambda rows: None, groups, np.random.default_rng(0)) == (None, None)


def test_moments_of_one_demonstration_are_one_group():
    names = ("human-42-35", "human-42", "seed-7", "libero_goal/3/12", "2023-05-01", "human-left-1", "")
    assert [origin_of(name) for name in names] == [
        *("human-42", "human-42", "seed-7", "libero_goal/3/12", "2023-05-01", "human-left-1", "")
    ]


def test_windows_stand_at_every_stride_and_are_whole():
    windows = cut_windows([episode(0, 33), episode(1, 15), episode(2, 16)], 1, 15, 16)
    assert windows.episode.tolist() == [0, 0, 2]
    assert windows.first.tolist() == [0, 16, 0]
    assert (windows.history, windows.horizon) == (1, 15)
    np.testing.assert_array_equal(windows.frames[1, :, 0, 0, 1], np.arange(16, 32))
    with pytest.raises(DataError, match="no episode has 16 frames"):
        cut_windows([episode(1, 15)], 1, 15, 16)


def test_a_mean_over_groups_counts_every_value_and_draws_groups():
    values, groups = np.array([0.0, 0.0, 0.0, 4.0]), np.array([0, 0, 0, 1])
    metric = mean_over_groups(values, groups, np.random.default_rng(0), "dB")
    assert (metric.value, metric.n, metric.unit) == (1.0, 2, "dB")
    assert (metric.low, metric.high) == (0.0, 4.0)  # both episodes the same one
    assert mean_over_groups(values, np.zeros(4, int), np.random.default_rng(0)).low is None


def test_a_curve_skips_what_is_not_there():
    values = np.array([[1.0, 2.0, np.nan], [3.0, np.nan, np.nan], [5.0, 4.0, 6.0]])
    curve = curve_over_groups(values, np.array([0, 0, 7]), np.random.default_rng(0))
    np.testing.assert_allclose(curve.mean, [3, 3, 6])
    assert curve.groups.tolist() == [2, 2, 1]
    np.testing.assert_allclose((curve.low[:2], curve.high[:2]), [[2, 2], [5, 4]])  # both episodes one or the other
    assert np.isnan([curve.low[2], curve.high[2]]).all()
