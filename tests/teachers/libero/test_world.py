"""The physics of a task: stock to the bit, repeatable, restorable."""

import numpy as np
import pytest

from teachers.libero.contract import proprio_of
from teachers.libero.suites import initial_states
from teachers.libero.world import LiberoWorld
from world_model.errors import InputError


@pytest.fixture(scope="module")
def world():
    return LiberoWorld.open("libero_goal", 8)


@pytest.fixture(scope="module")
def actions():
    """Down onto the table with the gripper closing: contacts from the first steps on."""
    actions = np.random.default_rng(0).uniform(-1, 1, (24, 7))
    actions[:, 2] = -0.9
    return actions


def same(one, other):
    return one.keys() == other.keys() and all(np.array_equal(one[name], other[name]) for name in one)


def play(world, actions):
    for action in actions:
        world.step(action)
    return world.snapshot()


def test_steps_are_the_environments_own(world, actions):
    world.reset(3)
    begin = world.snapshot()
    stock = []
    for action in actions:
        world.env.step(action)
        stock.append(np.concatenate([world.sim.data.qpos, world.sim.data.qvel]))
    world.restore(begin)
    for action, expected in zip(actions, stock, strict=True):
        world.step(action)
        assert np.array_equal(np.concatenate([world.sim.data.qpos, world.sim.data.qvel]), expected)


def test_a_start_is_the_same_after_anything_and_anywhere(world, actions):
    world.reset(4)
    first = world.snapshot()
    play(world, actions[:5])
    world.reset(9)
    assert not np.array_equal(world.snapshot()["body_pos"], first["body_pos"])  # another pose of the furniture
    world.reset(4)
    assert same(world.snapshot(), first)
    other = LiberoWorld.open("libero_goal", 8)
    other.reset(4)
    assert same(other.snapshot(), first)
    assert same(play(other, actions[:5]), play(world, actions[:5]))


def test_the_recorded_state_is_the_start(world):
    world.reset(7, settle=False)
    assert np.array_equal(world.sim.get_state().flatten(), initial_states(world.task)[7])


def test_going_on_from_a_snapshot_is_exact(world, actions):
    world.reset(3)
    middle = play(world, actions[:14])
    poses = world.object_poses()
    end = play(world, actions[14:])
    world.reset(5)
    world.restore(middle)
    assert same(world.snapshot(), middle)
    assert same(world.object_poses(), poses)
    assert same(play(world, actions[14:]), end)


def test_a_new_world_restored_looks_the_same(world):
    """All of the model, marks included: what a reset changes in it must be in the snapshot or be set anew."""
    world.reset(2)
    other = LiberoWorld.open("libero_goal", 8)
    other.restore(world.snapshot())
    one, two = world.sim.model._model, other.sim.model._model
    arrays = [name for name in dir(one) if isinstance(getattr(one, name), np.ndarray)]
    assert len(arrays) > 300
    assert [name for name in arrays if not np.array_equal(getattr(one, name), getattr(two, name), equal_nan=True)] == []


@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_actions_move_the_hand_as_declared(world, axis, sign):
    world.reset(0)
    before = proprio_of(world.env)
    move, turn = np.zeros(7), np.zeros(7)
    move[axis], turn[3 + axis] = sign, 0.3 * sign
    for _ in range(4):
        world.step(move)
    assert (proprio_of(world.env) - before)[axis] * sign > 0.03
    world.reset(0)
    for _ in range(4):
        world.step(turn)
    change = (proprio_of(world.env) - before)[3:6]
    assert change[axis] * sign > 0.08
    assert np.abs(np.delete(change, axis)).max() < 0.05


def test_plus_closes_the_gripper(world):
    world.reset(0)
    opening = []
    for gripper in (0, 1, -1):
        for _ in range(6):
            world.step(np.array([0, 0, 0, 0, 0, 0, gripper]))
        opening.append(proprio_of(world.env)[6])
    assert opening[0] == pytest.approx(0.08, abs=0.003)
    assert opening[1] < 0.05
    assert opening[2] > opening[1] + 0.01


def test_success_is_the_tasks_predicate(world):
    world.reset(0)
    assert not world.success()
    data, bowl = world.sim.data, "akita_black_bowl_1_joint0"
    pose = data.get_joint_qpos(bowl).copy()
    pose[:3] = world.object_poses()["plate_1"][:3]
    pose[2] += 0.03
    data.set_joint_qpos(bowl, pose)
    play(world, np.zeros((8, 7)))
    assert world.success()
    saved = world.snapshot()
    world.reset(0)
    assert not world.success()
    world.restore(saved)
    assert world.success()


def test_mistakes(world):
    with pytest.raises(InputError, match="there is no initial state 50; they are numbered 0 to 49"):
        world.reset(50)
    world.reset(0, settle=False)
    other = {**world.snapshot(), "physics": np.zeros(5)}
    with pytest.raises(InputError, match="5 numbers of physics but this scene has"):
        world.restore(other)
