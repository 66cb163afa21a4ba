"""The teacher's promises: exact snapshots in mid-contact, independent branches, clear refusals."""

import io

import numpy as np
import pytest

pytest.importorskip("gym_pusht")

from teachers.pusht.physics import PushTState
from teachers.pusht.teacher import PushTConfig, PushTTeacher
from world_model.errors import ContractError, InputError


def pushing(teacher, generator):
    """A target that presses on the block."""
    return (np.array(teacher.world.block_pose[:2]) + generator.normal(0, 40, 2)).clip(0, 512)[None]


def run(teacher, targets):
    return [(teacher.step(t[None], render=False), tuple(teacher.world.state))[1] for t in targets]


@pytest.mark.parametrize("start", ["seed-1", "seed-2", "near-3", "near-4"])
def test_restoring_in_mid_contact_goes_on_bit_for_bit(start):
    teacher, generator = PushTTeacher(), np.random.default_rng(1)
    teacher.reset(start)
    snapshots, states, targets = [], [], []
    for _ in range(80):
        snapshots.append(teacher.snapshot())
        states.append(teacher.world.state)
        targets.append(pushing(teacher, generator)[0])
        teacher.step(targets[-1][None], render=False)
    final, frame = teacher.world.state, teacher.render()["top"]
    moving = [i for i in range(79) if states[i].angle != states[i + 1].angle]
    assert len(moving) > 20
    other = PushTTeacher()
    for i in moving[::5]:
        other.restore(snapshots[i])
        assert other.world.state == states[i]
        for target in targets[i:]:
            other.step(target[None], render=False)
        assert other.world.state == final
        assert np.array_equal(other.render()["top"], frame)
        assert other.labels() == teacher.labels()


def test_copying_bodies_alone_would_not_have_been_exact():
    """Shows that the replay above is needed: the same state without its contacts goes elsewhere."""
    generator, differing = np.random.default_rng(0), 0
    for seed in range(6):
        teacher, copy = PushTTeacher(), PushTTeacher()
        teacher.reset(f"seed-{seed}")
        for _ in range(60):
            teacher.step(pushing(teacher, generator), render=False)
        copy.reset_to_state(teacher.world.state, render=False)
        targets = [pushing(teacher, generator)[0] for _ in range(20)]
        differing += run(teacher, targets) != run(copy, targets)
    assert differing > 0


def test_a_snapshot_survives_npz_without_pickle():
    teacher, generator = PushTTeacher(), np.random.default_rng(2)
    teacher.reset("near-11")
    for _ in range(15):
        teacher.step(pushing(teacher, generator), render=False)
    file = io.BytesIO()
    np.savez(file, **teacher.snapshot())
    file.seek(0)
    with np.load(file, allow_pickle=False) as saved:
        other = PushTTeacher()
        other.restore(dict(saved))
    target = pushing(teacher, generator)
    assert other.step(target).labels == teacher.step(target).labels
    assert other.world.state == teacher.world.state


def test_branches_are_equal_and_independent():
    teacher, generator = PushTTeacher(), np.random.default_rng(3)
    teacher.reset("seed-4")
    for _ in range(30):
        teacher.step(pushing(teacher, generator), render=False)
    before = teacher.world.state
    first, second, third = teacher.branch(3)
    targets = [pushing(teacher, generator)[0] for _ in range(10)]
    assert run(first, targets) == run(second, targets)
    third.step(np.array([[10.0, 10.0]]))
    assert teacher.world.state == before
    assert run(teacher, targets)[-1] == tuple(first.world.state)


def test_going_back_and_forth_on_one_teacher():
    teacher, generator = PushTTeacher(), np.random.default_rng(4)
    teacher.reset("seed-9")
    targets = [pushing(teacher, generator)[0] for _ in range(30)]
    run(teacher, targets[:10])
    early = teacher.snapshot()
    run(teacher, targets[10:])
    late, final = teacher.snapshot(), teacher.world.state
    teacher.restore(early)
    teacher.restore(late)  # a prefix is there already
    assert teacher.world.state == final
    run(teacher, targets[:3])
    teacher.restore(late)  # from a longer history
    assert teacher.world.state == final


def test_goal_is_a_parameter_of_rewards_and_state():
    state = PushTState(60, 60, 400, 150, 2.0)
    there, stock = PushTTeacher(PushTConfig(goal=(400, 150, 2.0))), PushTTeacher()
    for teacher, success in ((there, 1), (stock, 0)):
        teacher.reset_to_state(state)
        assert teacher.labels()["success_coverage"] == teacher.labels()["success_pose"] == success
    assert there.state.tolist() == pytest.approx([400, 150, 2.0, 0, 0, 400, 150, 2.0])
    with pytest.raises(InputError, match="goal"):
        stock.restore(there.snapshot())


def test_frames_come_on_request_only():
    teacher = PushTTeacher()
    assert teacher.reset("seed-0", render=False).frames == {}
    assert teacher.step(np.array([[1.0, 2.0]]), render=False).observation.frames == {}
    step = teacher.step(np.array([[1.0, 2.0]]))
    assert step.observation.frames["top"].shape == (64, 64, 3)
    assert step.observation.proprio.tolist() == pytest.approx(teacher.world.state[:2], abs=1e-4)


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        ([[600.0, 1.0]], "600"),
        ([[np.nan, 1.0]], "NaN"),
        ([1.0, 2.0], "shape"),
        ([[1.0, 2.0], [3.0, 4.0]], "1 action per frame"),
    ],
)
def test_bad_actions_get_one_sentence(actions, message):
    teacher = PushTTeacher()
    teacher.reset("seed-0")
    with pytest.raises(InputError, match=message):
        teacher.step(np.array(actions))


def test_use_before_reset_and_foreign_snapshots_are_refused():
    teacher = PushTTeacher()
    with pytest.raises(InputError, match="reset"):
        teacher.step(np.array([[1.0, 2.0]]))
    with pytest.raises(InputError, match="reset"):
        teacher.snapshot()
    with pytest.raises(InputError, match="libero"):
        teacher.restore({"teacher": np.array("libero")})
    with pytest.raises(InputError, match="NaN"):
        teacher.reset_to_state(PushTState(1, 2, float("nan"), 3, 4))


def test_contracts_of_two_sizes_name_the_field():
    a, b = PushTTeacher().contract, PushTTeacher(PushTConfig(size=96)).contract
    with pytest.raises(ContractError, match="height"):
        a.require_same(b, "a", "b")
