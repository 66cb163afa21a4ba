"""Episodes are a function of split, seed and number, and hold what a world model has to learn."""

import numpy as np
import pytest

pytest.importorskip("gym_pusht")

from teachers.pusht.behaviours import RECIPES
from teachers.pusht.physics import PushTState
from teachers.pusht.recording import LONGEST, PushTRecorder
from teachers.pusht.starts import SEEDS, parse_start
from teachers.pusht.teacher import PushTTeacher
from world_model.errors import InputError


def same(a, b):
    arrays = ("frames", "proprio", "actions", "state")
    labels = a.labels.keys() == b.labels.keys() and all(np.array_equal(a.labels[k], b.labels[k]) for k in a.labels)
    return (
        labels
        and (a.start, a.behaviour) == (b.start, b.behaviour)
        and all(np.array_equal(getattr(a, n), getattr(b, n)) for n in arrays)
    )


@pytest.fixture(scope="module")
def episodes():
    recorder = PushTRecorder("train", 0)
    return [recorder.record(i) for i in range(60)]


def test_an_episode_does_not_depend_on_what_was_recorded_before(episodes):
    for i in (41, 3, 17):
        assert same(PushTRecorder("train", 0).record(i), episodes[i])


def test_lengths_are_known_beforehand(episodes):
    recorder = PushTRecorder("train", 0)
    assert [recorder.length(i) for i in range(60)] == [len(e) for e in episodes]


def test_start_and_actions_replay_an_episode_exactly(episodes):
    teacher = PushTTeacher()
    for episode in episodes[:6]:
        assert np.array_equal(teacher.reset(episode.start).frames["top"], episode.frames[0])
        for i, action in enumerate(episode.actions):
            step = teacher.step(action)
            assert np.array_equal(step.observation.frames["top"], episode.frames[i + 1])
            assert np.array_equal(teacher.state.astype(np.float32), episode.state[i + 1])
            assert step.labels["coverage"] == pytest.approx(episode.labels["coverage"][i + 1], abs=1e-6)


def test_another_seed_and_another_split_differ(episodes):
    assert not same(PushTRecorder("train", 1).record(0), episodes[0])
    assert not same(PushTRecorder("validation", 0).record(0), episodes[0])


@pytest.mark.parametrize("split", ["train", "validation", "test"])
def test_starts_keep_to_their_split(split):
    recorder = PushTRecorder(split, 0)
    starts = [parse_start(recorder.plan(i).start) for i in range(300)]
    assert all(SEEDS[split][0] <= s.number < SEEDS[split][1] for s in starts if s.kind != "human")
    human = {s.number for s in starts if s.kind == "human"}
    allowed = {"train": range(40), "validation": range(0), "test": range(40, 45)}[split]
    assert human <= set(allowed)


def test_the_block_moves_in_every_direction_and_reaches_the_goal(episodes):
    steps = np.concatenate([np.diff(e.state[:, :3], axis=0) for e in episodes])
    turn, shift = steps[:, 2], np.hypot(steps[:, 0], steps[:, 1])
    moving = (shift > 0.1) | (np.abs(turn) > 1e-3)
    assert moving.mean() > 0.42
    assert min((turn > 1e-3).mean(), (turn < -1e-3).mean()) > 0.15
    directions = np.histogram(np.arctan2(steps[moving, 1], steps[moving, 0]), 8, (-np.pi, np.pi))[0]
    assert directions.min() / directions.sum() > 0.05
    assert np.mean([e.labels["coverage"].max() > 0.9 for e in episodes]) > 0.1
    assert max(len(e) for e in episodes) <= LONGEST + 1


def test_actions_are_inside_the_contract(episodes):
    contract = PushTTeacher().contract
    for episode in episodes:
        contract.check_actions(episode.actions, ndim=3)
        low, high = contract.proprio_bounds()
        assert ((episode.proprio >= low) & (episode.proprio <= high)).all()


@pytest.mark.parametrize("name", [n for n, r in RECIPES.items() if "human" not in r.starts])
def test_every_behaviour_can_be_recorded_alone(name):
    recorder = PushTRecorder("validation", 5, {"behaviours": (name,)})
    episode = recorder.record(0)
    assert episode.behaviour == name
    assert np.abs(np.diff(episode.actions[:, 0], axis=0)).sum() > 0


def test_unknown_and_impossible_behaviours_are_refused():
    with pytest.raises(InputError, match="'dance'"):
        PushTRecorder("train", 0, {"behaviours": ("dance",)})
    with pytest.raises(InputError, match="human"):
        PushTRecorder("validation", 0, {"behaviours": ("human",)})


def test_pushing_a_block_out_of_the_arena_is_still_recorded_as_it_is():
    """gym-pusht's pusher can force the block through a wall; states stay finite."""
    teacher = PushTTeacher()
    teacher.reset_to_state(PushTState(300, 420, 300, 480, 0.0))
    for _ in range(20):
        step = teacher.step(np.array([[300.0, 512.0]]))
    assert np.isfinite(teacher.state).all()
    assert np.isfinite(list(step.labels.values())).all()
