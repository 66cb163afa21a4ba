"""Named starts: the same everywhere, near ones near, human ones as recorded."""

import itertools

import numpy as np
import pytest

pytest.importorskip("gym_pusht")

import shapely
from gym_pusht.envs.pusht import PushTEnv

from teachers.pusht.demonstrations import demonstrations, find_demonstrations
from teachers.pusht.physics import STOCK_GOAL, Pose
from teachers.pusht.scoring import coverage, outline
from teachers.pusht.starts import SEEDS, Start, near_goal, parse_start
from teachers.pusht.teacher import PushTConfig, PushTTeacher
from world_model.errors import DataError, InputError


def test_names_are_read():
    assert parse_start("seed-800003") == Start("seed", 800_003)
    assert parse_start("near-5") == Start("near", 5)
    assert parse_start("human-12") == Start("human", 12, 0)
    assert parse_start("human-12-37") == Start("human", 12, 37)


@pytest.mark.parametrize(
    "name", ["", "seed", "seed-", "seed-x", "seed--1", "near-1-2", "far-3", "human-1-2-3", "seed-²"]
)
def test_unknown_names_are_refused(name):
    with pytest.raises(InputError, match="seed-N"):
        PushTTeacher().reset(name)


def test_splits_share_no_seed():
    ranges = [range(*SEEDS[name]) for name in ("train", "validation", "test")]
    assert [r.start for r in ranges] == [0, 800_000, 900_000]
    assert all(a.stop <= b.start for a, b in itertools.pairwise(ranges))


def test_a_seed_start_is_gym_pushts():
    observation, _ = PushTEnv(obs_type="state").reset(seed=900_001)
    teacher = PushTTeacher()
    proprio = teacher.reset("seed-900001").proprio
    assert proprio.tolist() == observation[:2].astype(np.float32).tolist()
    assert teacher.state[:2].tolist() == observation[2:4].tolist()


def test_near_starts_are_near_free_of_contact_and_follow_the_goal():
    goal = Pose(300.0, 200.0, -1.0)
    states = [near_goal(seed, goal) for seed in range(200)]
    assert near_goal(7, goal) == states[7]
    covered = np.array([coverage(Pose(*s[2:5]), goal) for s in states])
    assert (covered > 0.8).mean() > 0.25
    assert (covered > 0.95).mean() > 0.03
    assert (covered < 0.5).mean() > 0.15
    for s in states:
        assert shapely.Polygon(outline(Pose(*s[2:5]))).distance(shapely.Point(s[:2])) > 15  # the pusher's radius


def test_near_starts_lie_about_the_stock_goal_by_default():
    teacher = PushTTeacher()
    teacher.reset("near-42")
    assert np.hypot(teacher.state[0] - STOCK_GOAL.x, teacher.state[1] - STOCK_GOAL.y) < 250


def test_human_starts_replay_to_the_recorded_states(shared_data):
    human = demonstrations(find_demonstrations())
    assert len(human) == 45
    assert human.train_count == 40
    teacher = PushTTeacher()
    for episode in (0, 12, 44):
        observation = teacher.reset(f"human-{episode}", render=False)
        rows = human.rows(episode)
        assert np.array_equal(observation.proprio, human.states[rows][0, :2])
        for i, target in enumerate(human.targets(episode)[:-1]):
            teacher.step(target[None], render=False)
            wanted = human.states[rows][i + 1]
            assert teacher.state[:2] == pytest.approx(wanted[2:4], abs=0.01)
            assert teacher.state[2] % (2 * np.pi) == pytest.approx(wanted[4], abs=1e-3)


def test_human_starts_that_do_not_exist_are_refused(shared_data):
    teacher = PushTTeacher()
    with pytest.raises(InputError, match="0 to 44"):
        teacher.reset("human-45")
    with pytest.raises(InputError, match="step 4000"):
        teacher.reset("human-3-4000")


def test_human_starts_without_the_demonstrations_say_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setenv("SIMFORCING_SHARED_DATA", str(tmp_path))
    with pytest.raises(DataError, match="SIMFORCING_SHARED_DATA"):
        PushTTeacher().reset("human-0")
    with pytest.raises(DataError, match=r"\.zarray"):
        PushTTeacher(PushTConfig(demonstrations=tmp_path / "none.zarr")).reset("human-0")
