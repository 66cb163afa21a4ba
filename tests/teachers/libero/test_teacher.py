"""The teacher: contract, labels, shared worlds, exact snapshots. Nothing is drawn here."""

import io

import numpy as np
import pytest

from teachers.libero.contract import arm_contract
from teachers.libero.teacher import LiberoConfig, LiberoTeacher
from teachers.registry import make_teacher, teacher_module
from world_model.errors import ContractError, InputError

START = "libero_goal/8/3"


@pytest.fixture(scope="module")
def chunks():
    chunks = np.random.default_rng(1).uniform(-1, 1, (5, 4, 7))
    chunks[:, :, 2] = -0.8
    return chunks


def play(teacher, chunks):
    """State, proprio and labels after each frame."""
    steps = []
    for actions in chunks:
        taken = teacher.step(actions, render=False)
        steps.append((teacher.state, taken.observation.proprio, taken.labels))
    return steps


def same(one, other):
    pairs = zip(one, other, strict=True)
    return all(np.array_equal(a[0], b[0]) and np.array_equal(a[1], b[1]) and a[2] == b[2] for a, b in pairs)


def test_the_contract():
    contract = LiberoTeacher().contract
    assert (contract.name, contract.control_hz, contract.actions_per_frame, contract.frame_hz) == (
        *("libero_goal", 20.0, 4, 5.0),
    )
    assert [(c.name, c.height, c.width, c.orientation) for c in contract.cameras] == [
        ("agentview", 128, 128, "upright"),
        ("wrist", 128, 128, "upright"),
    ]
    assert contract.gripper == "plus_closes"
    assert [d.kind for d in contract.actions] == ["relative"] * 6 + ["absolute"]
    assert contract.proprio_dim == 7
    assert LiberoTeacher(LiberoConfig(frame_hz=10)).contract.actions_per_frame == 2


def test_a_step_is_one_frame_of_control_steps(chunks):
    teacher = LiberoTeacher()
    seen = teacher.reset(START, render=False)
    assert seen.frames == {}
    low, high = teacher.contract.proprio_bounds()
    assert (seen.proprio > low).all()
    assert (seen.proprio < high).all()
    taken = teacher.step(chunks[0], render=False)
    assert taken.labels == {"reward": 0.0, "success": 0.0, "success_since": 0.0} == teacher.labels()
    assert teacher.language == "put the bowl on the plate"
    single = LiberoTeacher(LiberoConfig(frame_hz=20))
    single.reset(START, render=False)
    for action in chunks[0]:
        single.step(action[None], render=False)
    assert np.array_equal(single.state, teacher.state)


def test_the_privileged_state_has_names(chunks):
    teacher = LiberoTeacher()
    assert teacher.state_names == ()
    teacher.reset(START, render=False)
    state = dict(zip(teacher.state_names, teacher.state, strict=True))
    assert state["akita_black_bowl_1_z"] == pytest.approx(0.9, abs=0.05)
    assert state["wooden_cabinet_1_middle_level"] == pytest.approx(0, abs=0.01)


def test_branches_and_their_parent_share_a_world_and_go_on_exactly(chunks):
    teacher = LiberoTeacher()
    teacher.reset(START, render=False)
    play(teacher, chunks[:2])
    branches = teacher.branch(3)
    assert len({id(t._stage) for t in [teacher, *branches]}) == 1
    in_turn = [[], []]
    for actions in chunks[2:]:  # two branches by turns, one action chunk each
        for branch, steps in zip(branches[:2], in_turn, strict=True):
            steps += play(branch, [actions])
    expected = play(teacher, chunks[2:])
    assert same(in_turn[0], expected)
    assert same(in_turn[1], expected)
    assert same(play(branches[2], chunks[2:]), expected)


def test_a_snapshot_travels_without_pickle(chunks):
    teacher = LiberoTeacher()
    teacher.reset(START, render=False)
    play(teacher, chunks[:2])
    file = io.BytesIO()
    np.savez(file, **teacher.snapshot())
    expected = play(teacher, chunks[2:])
    file.seek(0)
    with np.load(file, allow_pickle=False) as loaded:
        other = LiberoTeacher()
        other.restore(dict(loaded))
    assert same(play(other, chunks[2:]), expected)


def test_success_between_frames_is_told_apart():
    teacher = LiberoTeacher()
    teacher.reset(START, render=False)
    data, bowl = teacher.world.sim.data, "akita_black_bowl_1_joint0"
    pose = data.get_joint_qpos(bowl).copy()
    pose[:3] = teacher.world.object_poses()["plate_1"][:3]
    pose[2] += 0.02
    data.set_joint_qpos(bowl, pose)
    for _ in range(2):
        labels = teacher.step(np.zeros((4, 7)), render=False).labels
    assert labels == {"reward": 1.0, "success": 1.0, "success_since": 1.0}
    pose[2] += 0.3
    data.set_joint_qpos(bowl, pose)
    teacher.step(np.zeros((4, 7)), render=False)
    assert teacher.labels()["success"] == 0.0


def test_the_registry_knows_every_suite():
    teacher = make_teacher("libero_object", arm_contract("libero_object", "libero_object", ("agentview",), 64))
    assert teacher.config == LiberoConfig("libero_object", ("agentview",), 64)
    start = teacher_module("libero_object").training_start(np.random.default_rng(0))
    assert start.startswith("libero_object/")
    assert int(start.rpartition("/")[2]) < 30
    with pytest.raises(ContractError, match="name"):
        make_teacher("libero_object", arm_contract("libero_goal", "libero_goal"))


@pytest.mark.parametrize(
    ("config", "says"),
    [
        (dict(suite="libero_chess"), "there is no LIBERO suite 'libero_chess'"),
        (dict(cameras=("front",)), "must be one or more of agentview, wrist"),
        (dict(cameras=()), "must be one or more of agentview, wrist"),
        (dict(size=0), "size is 0 but must be a whole number from 1 to 2048"),
        (dict(frame_hz=7), "frame_hz is 7 but must divide the 20 Hz of control"),
        (dict(look="nice"), "look is 'nice' but must be one of stock, fast"),
    ],
)
def test_mistaken_settings(config, says):
    with pytest.raises(InputError, match=says):
        LiberoTeacher(LiberoConfig(**config))


def test_mistakes(chunks):
    teacher = LiberoTeacher()
    with pytest.raises(InputError, match=r"has no state yet; call reset\(start\) first"):
        teacher.step(chunks[0])
    with pytest.raises(InputError, match="is not of libero_goal; make a teacher with suite='libero_10'"):
        teacher.reset("libero_10/0/0")
    teacher.reset(START, render=False)
    with pytest.raises(InputError, match="takes 4 actions per frame but 3 came"):
        teacher.step(chunks[0][:3])
    with pytest.raises(InputError, match="outside"):
        teacher.step(chunks[0] + 3)
    with pytest.raises(InputError, match="snapshot is of teacher pusht, not of libero_goal"):
        teacher.restore({"teacher": np.array("pusht")})


def test_the_look_is_in_the_contract_and_comes_back_from_it():
    fast = LiberoTeacher(LiberoConfig("libero_goal", look="fast"))
    assert fast.contract.look == "fast"
    assert LiberoTeacher(LiberoConfig("libero_goal")).contract.look is None
    assert make_teacher("libero_goal", fast.contract).config == fast.config
