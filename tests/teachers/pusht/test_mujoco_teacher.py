"""The MuJoCo twin: gym-pusht's starts, pusher and (nearly) block, exact states, its own look."""

import io

import numpy as np
import pytest

pytest.importorskip("gym_pusht")
pytest.importorskip("mujoco")

from teachers.pusht.mujoco_teacher import MujocoPushTConfig, MujocoPushTTeacher
from teachers.pusht.mujoco_world import MujocoWorld, TablePhysics
from teachers.pusht.parting import parting
from teachers.pusht.physics import Pose, PushTState
from teachers.pusht.scoring import outline
from teachers.pusht.teacher import PushTTeacher
from teachers.registry import make_teacher
from world_model.errors import InputError


def pressing(teacher, generator):
    return (np.array(teacher.world.block_pose[:2]) + generator.normal(0, 40, 2)).clip(0, 512)[None]


@pytest.mark.parametrize("start", ["seed-5", "seed-800003", "near-12"])
def test_starts_and_truth_are_those_of_gym_pusht(start):
    twin, stock = MujocoPushTTeacher(), PushTTeacher()
    seen, expected = twin.reset(start, render=False), stock.reset(start, render=False)
    assert np.array_equal(seen.proprio, expected.proprio)
    assert twin.state == pytest.approx(stock.state, abs=1e-9)
    assert twin.labels() == pytest.approx(stock.labels(), abs=1e-9)
    assert twin.contract == stock.contract


def test_the_pusher_moves_as_in_gym_pusht_bit_for_bit():
    twin, stock, generator = MujocoPushTTeacher(), PushTTeacher(), np.random.default_rng(0)
    for teacher in (twin, stock):
        teacher.reset("seed-3", render=False)
    for _ in range(40):
        action = pressing(stock, generator)
        taken, expected = twin.step(action, render=False), stock.step(action, render=False)
        assert np.array_equal(taken.observation.proprio, expected.observation.proprio)


def test_the_block_goes_where_gym_pushts_goes():
    same, rough = (parting(40, (16,), seed=7, physics=TablePhysics(friction=f)) for f in (0.0, 0.3))
    pushed = same.way[:, 0] > 1
    assert pushed.sum() > 25
    assert np.median(same.way[pushed]) > 20
    assert np.median(same.apart[pushed]) < 0.5
    assert np.median(rough.apart[pushed]) > 4 * np.median(same.apart[pushed])
    assert np.array_equal(rough.way, same.way)


def test_an_episode_that_is_over_counts_for_nothing():
    found = parting(3, (5, 500), seed=7)
    assert np.isfinite(found.apart[:, 0]).all()
    assert np.isnan(found.apart[:, 1]).all()


def test_walls_hold_the_block():
    world = MujocoWorld()
    world.reset_state(PushTState(300, 250, 380, 200, 0.4))
    for _ in range(60):
        world.step(500, 260)
    corners = outline(world.block_pose)
    assert corners[:, 0].max() == pytest.approx(504, abs=12)  # the pusher presses it a little into the wall
    world.reset_state(PushTState(100, 100, 300, 300, 0.0))
    for _ in range(5):
        world.step(50, 50)
    assert world.block_pose == pytest.approx(Pose(300, 300, 0.0), abs=1e-9)  # untouched, it rests


def test_a_snapshot_in_mid_contact_goes_on_bit_for_bit_and_travels():
    teacher, generator = MujocoPushTTeacher(), np.random.default_rng(1)
    teacher.reset("near-3", render=False)
    snapshots, states, targets = [], [], []
    for _ in range(50):
        snapshots.append(teacher.snapshot())
        states.append(teacher.world.state)
        targets.append(pressing(teacher, generator))
        teacher.step(targets[-1], render=False)
    moving = [i for i in range(49) if states[i].angle != states[i + 1].angle]
    assert len(moving) > 10
    other = MujocoPushTTeacher()
    for i in moving[::7]:
        file = io.BytesIO()
        np.savez(file, **snapshots[i])
        file.seek(0)
        with np.load(file, allow_pickle=False) as saved:
            other.restore(dict(saved))
        for target in targets[i:]:
            other.step(target, render=False)
        assert other.world.state == teacher.world.state
        assert other.labels() == teacher.labels()


def test_branches_are_independent():
    teacher, generator = MujocoPushTTeacher(), np.random.default_rng(2)
    teacher.reset("seed-8", render=False)
    one, other = teacher.branch(2)
    before = teacher.world.state
    for _ in range(20):
        one.step(pressing(one, generator), render=False)
    assert (teacher.world.state, other.world.state) == (before, before)
    assert one.world.state != before


def test_pictures_are_upright_and_its_own(drawing):
    twin, stock = make_teacher("pusht-mujoco"), PushTTeacher()
    state = PushTState(100, 100, 400, 300, 0.0)
    mine, theirs = (t.reset_to_state(state).frames["top"].astype(int) for t in (twin, stock))
    assert mine.shape == theirs.shape == (64, 64, 3)
    assert np.abs(mine - theirs).mean() > 60
    red = (mine[..., 0] > 2 * mine[..., 1]) & (mine[..., 0] > 120)
    rows, columns = np.nonzero(red)
    assert (columns.mean() * 8 + 4, rows.mean() * 8 + 4) == pytest.approx((100, 100), abs=8)
    yellow = (mine[..., 0] > 150) & (mine[..., 1] > 100) & (mine[..., 2] < 100)
    rows, columns = np.nonzero(yellow)
    assert (columns.mean() * 8 + 4, rows.mean() * 8 + 4) == pytest.approx((400, 345 - 11), abs=12)
    again = twin.reset_to_state(state).frames["top"]
    assert np.array_equal(again, mine)


def test_foreign_snapshots_are_refused():
    stock, twin = PushTTeacher(), MujocoPushTTeacher()
    for teacher in (stock, twin):
        teacher.reset("seed-1", render=False)
    with pytest.raises(InputError, match="is of teacher pusht, not of pusht-mujoco"):
        twin.restore(stock.snapshot())
    with pytest.raises(InputError, match="not of pusht;"):
        stock.restore(twin.snapshot())
    with pytest.raises(InputError, match="make a teacher with that goal"):
        MujocoPushTTeacher(MujocoPushTConfig(goal=(200, 200, 0))).restore(twin.snapshot())
    with pytest.raises(InputError, match="needs 10 finite ones"):
        twin.restore({**twin.snapshot(), "numbers": np.full(10, np.nan)})


def test_it_is_an_environment(drawing):
    import gymnasium as gym

    env = gym.make("simforcing_env:SimForcing/PushT-Teacher-v0", teacher="pusht-mujoco")
    seen, _ = env.reset(seed=3, options={"start": "near-800007"})
    teacher = make_teacher("pusht-mujoco")
    assert np.array_equal(seen["image"], teacher.reset("near-800007").frames["top"])
    action = np.array([[200.0, 260.0]], np.float32)
    following, reward, *_ = env.step(action[0])
    taken = teacher.step(action)
    assert np.array_equal(following["image"], taken.observation.frames["top"])
    assert reward == pytest.approx(taken.labels["reward"])
    env.close()
