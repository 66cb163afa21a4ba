"""Every public argument of the environments with values of every wrong kind: refused in one sentence that names it."""

import gymnasium as gym
import numpy as np
import pytest

import simforcing_env  # noqa: F401 (registers the ids)
from simforcing_env.adapters.lerobot import policy_batch, select_action
from simforcing_env.snapshot import Snapshot
from simforcing_env.teacher_env import TeacherEnv, TeacherVectorEnv
from simforcing_env.vector_env import WorldModelVectorEnv
from tests.world_model.tiny import SIZE, tiny_simulator
from world_model.errors import ContractError, DataError, InputError, SimforcingError

TEACHER = "SimForcing/PushT-Teacher-v0"
NOTHING = object()
FRACTION = 1.5
WRONG = {  # beside these, every value of JUNK is wrong for all of them
    "chunk": ["2", 1.5, 0, 1025, True],
    "success_threshold": [None, "0.5", 2, True],
    "max_episode_steps": ["2", 1.5, 0, True],
    "render_mode": ["human", 1],
    "render_scale": [None, "2", 1.5, 0, 65, True],
    "frames_in_info": [None, "yes", 1],
    "observation_keys": [None, "ros", 1],
    "autoreset_mode": [None, "Never", 1],
    "num_envs": [None, "2", 1.5, 0, True, 65_537],
}
LEARNED = {
    "checkpoint": [None, 5],
    "world": [5],
    "sampler_steps": ["2", 1.5, 0, True, 1001],
    "history": ["2", 2.5, 0, True, 257],
    "device": [None, "gpu", "", 5],
    "precision": [None, "float16"],
    "threads": ["2", 1.5, 0, 10_000],
    "rows_per_call": [None, "2", 1.5, -1],
    "starts": ["seed-1", [], [1]],
    "task": ["0", 1.5, -1, True, [0, "1"]],
    "sim_source": [None, "mujoco", 1, "student"],
    "guidance": [None, "1", True, 101],
}
TRUE = {
    "teacher": [None, 5, "chess"],
    "starts": ["seed-1", [], [1]],
    "size": [None, "64", 64.5, 7, 513],
    "look": [None, "shiny"],
    "goal": [None, "abc", [1, 2], [1, 2, np.nan], [1, 2, "3"]],
    "demonstrations": [5],
}
JUNK = [b"x", 1j, {"a": 1}, NOTHING, np.zeros((2, 3, 2)), float("nan"), float("-inf"), 10**30]


def cases(*tables):
    return [(name, value) for table in tables for name, wrong in table.items() for value in wrong + JUNK]


def refused(name, action, kinds=SimforcingError):
    with pytest.raises(kinds) as error:
        action()
    text = str(error.value)
    assert name in text
    assert "\n" not in text
    assert len(text) < 500


def test_learned_options():
    simulator = tiny_simulator()
    for name, value in cases(WRONG, LEARNED):
        options = {"checkpoint": simulator, name: value}
        refused(name, lambda options=options: WorldModelVectorEnv(**options))


@pytest.mark.parametrize("make", [gym.make, gym.make_vec])
def test_the_registered_ids_refuse_too(make):
    for name, value in [("checkpoint", None), ("chunk", "a"), ("history", 2.5), ("device", "gpu"), ("chnk", 2)]:
        refused(name, lambda name=name, value=value: make("SimForcing/PushT-v0", **{name: value}), InputError)


def test_teacher_options():
    for name, value in cases(WRONG, TRUE):
        options = {name: value}
        refused(name, lambda options=options: TeacherVectorEnv(**options))


@pytest.mark.parametrize("name", ["chnk", "num_envs", "autoreset_mode"])
def test_options_that_a_single_environment_does_not_have(make_single, name):
    for make in (make_single, TeacherEnv):
        refused(f"'{name}'", lambda make=make: make(**{name: 1}), InputError)


def test_the_teachers_own_options():
    """Size, look and goal reach the teacher, and the spaces follow."""
    env = gym.make(TEACHER, size=96, goal=[100, 150, 0.5], look="stock")
    assert env.observation_space["image"].shape == (96, 96, 3)
    observation, _ = env.reset(options={"start": "seed-3"})
    assert observation["image"].shape == (96, 96, 3)
    stock = TeacherEnv(size=96)
    assert (stock.reset(options={"start": "seed-3"})[0]["image"] != observation["image"]).any()
    (teacher,) = env.unwrapped.vector.backend.teachers
    assert (tuple(teacher.goal), teacher.config.look) == ((100, 150, 0.5), "stock")
    env.step(env.action_space.sample())
    moment = env.unwrapped.snapshot()
    with pytest.raises(InputError, match="make a teacher with that goal"):
        stock.restore(moment)
    with pytest.raises(ContractError, match="restore it into an environment made with the same arguments"):
        TeacherEnv().restore(moment)


PICTURE = np.zeros((SIZE, SIZE, 3), np.uint8)


@pytest.mark.parametrize("value", [*JUNK, "ab", True, FRACTION])
def test_resets(make_vector, make_single, value):
    for env in (make_vector(2), make_single(), TeacherVectorEnv(2)):
        pair = {"image": PICTURE, "proprio": value}
        lines = {"image": PICTURE, "proprio": [value, value]}
        with pytest.raises(SimforcingError):
            env.reset(seed=value)
        with pytest.raises(SimforcingError):
            env.reset(seed=[value, value])
        for options in (value, {"start": value}, {"start": [value, value]}, {"image": value, "proprio": [0, 0]}, pair):
            with pytest.raises(SimforcingError):
                env.reset(options=options)
        if value is not FRACTION:  # a good number for proprio
            with pytest.raises(SimforcingError):
                env.reset(options=lines)


def test_none_is_no_start(make_vector):
    refused("'start'", lambda: make_vector(2).reset(options={"start": None}), InputError)
    refused("'proprio'", lambda: make_vector(2).reset(options={"image": PICTURE, "proprio": None}), InputError)


@pytest.mark.parametrize("kind", [object, str, bool, complex, "M8[s]"])
def test_actions_are_numbers(make_vector, make_single, kind):
    for env in (make_vector(2), make_single(), TeacherVectorEnv(2), TeacherEnv()):
        env.reset(seed=0)
        before = env.snapshot().to_bytes()
        refused("actions", lambda env=env: env.step(np.ones(env.action_space.shape, int).astype(kind)), InputError)
        assert env.snapshot().to_bytes() == before


@pytest.mark.parametrize("action", [None, "ab", "12", [["1", "2"], ["3", "4"]], [[1], [1, 2]], {}, NOTHING, True, 1j])
def test_actions_are_arrays(make_vector, action):
    env = make_vector(2)
    env.reset(seed=0)
    refused("actions", lambda: env.step(action), InputError)


def test_whole_numbers_are_actions(make_vector):
    env = make_vector(2)
    env.reset(seed=0)
    *_, info = env.step(np.array([[10, 20], [30, 40]]))
    np.testing.assert_allclose(info["proprio"][:, 0], [[10, 20], [30, 40]], atol=1e-3)


def test_branch_arguments(make_vector):
    env = make_vector(2)
    env.reset(seed=0)
    for name, wrong in {
        "count": [None, "2", 1.5, 0, True, 10**6],
        "index": [None, "0", 0.5, 2, -1],
        "share_noise": [None, "yes", 1],
        "chunk": ["2", 1.5, 0],
    }.items():
        for value in wrong + JUNK:
            refused(name, lambda name=name, value=value: env.branch(**{"count": 2, name: value}), InputError)


@pytest.mark.parametrize("value", [None, b"x", "x", 5, {}, []])
def test_only_snapshots_are_restored(make_vector, value):
    env = make_vector(1)
    refused("restore", lambda: env.restore(value), InputError)
    if not isinstance(value, bytes):
        refused("snapshot", lambda: Snapshot.from_bytes(value), InputError)


def damaged(moment):
    """Snapshots that differ from ``moment`` in one array or one slot, each with what the error must name."""
    for name, array in moment.arrays.items():
        bad = [array[:1][..., None], np.zeros(array.shape, "U1"), np.zeros(array.shape, np.complex64)]
        if array.dtype.kind == "f" and "memory" not in name:
            bad += [np.full_like(array, np.nan), np.full_like(array, np.inf)]
        for each in bad:
            yield Snapshot(moment.identity, moment.slots, moment.arrays | {name: each})
        yield Snapshot(moment.identity, moment.slots, {n: a for n, a in moment.arrays.items() if n != name})
    for slot in (None, {}, {"start": 5, "rng": None}, {"start": "left", "rng": "x"}, {"start": "left", "rng": {}}):
        yield Snapshot(moment.identity, [slot] * len(moment.slots), moment.arrays)


def test_damaged_snapshots_change_nothing(make_vector):
    env = make_vector(2)
    env.reset(seed=0)
    env.step(np.full((2, 2), 30, np.float32))
    moment = env.snapshot()
    env.step(np.full((2, 2), 40, np.float32))
    before = env.snapshot().to_bytes()
    for bad in damaged(moment):
        with pytest.raises(DataError):
            env.restore(Snapshot.from_bytes(bad.to_bytes()))
        assert env.snapshot().to_bytes() == before
    for identity in (None, 5, [], "a"):
        with pytest.raises(DataError, match="not a whole snapshot"):
            Snapshot.from_bytes(Snapshot(identity, moment.slots, moment.arrays).to_bytes())
    data = moment.to_bytes()
    for length in range(0, len(data), len(data) // 40):
        with pytest.raises(DataError):
            Snapshot.from_bytes(data[:length])


def test_teachers_refuse_damaged_snapshots_and_stay(make_vector):
    """The second teacher's state is damaged: the first must not have moved either."""
    env = TeacherVectorEnv(2)
    env.reset(seed=0)
    env.step(np.full((2, 2), 200, np.float32))
    moment = env.snapshot()
    env.step(np.full((2, 2), 300, np.float32))
    before = env.snapshot().to_bytes()
    for name, value in {
        "actions": np.full((1, 2), np.nan, np.float32),
        "goal": np.zeros(2),
        "start_seed": np.array("x"),
        "state": np.zeros(7),
        "teacher": np.array("chess"),
    }.items():
        with pytest.raises(SimforcingError):
            env.restore(Snapshot(moment.identity, moment.slots, moment.arrays | {f"backend/1/{name}": value}))
        assert env.snapshot().to_bytes() == before
    with pytest.raises(InputError, match="nowhere"):
        env.reset(options={"start": ["seed-1", "nowhere"]})
    assert env.snapshot().to_bytes() == before


def test_lerobot_policies_that_are_none():
    class Policy:
        def __init__(self, answer):
            self.answer = answer

        def select_action(self, batch):
            return self.answer

    observation = {"observation.state": np.zeros((2, 2), np.float32)}
    for answer in (None, "go", [1.0, 2.0]):
        refused("select_action", lambda answer=answer: select_action(Policy(answer), observation), InputError)
    for value in (None, [], {"observation.state": "far"}, {"observation.state": None}):
        refused("observation", lambda value=value: policy_batch(value), InputError)
    refused("device", lambda: policy_batch(observation, "gpu"), InputError)
