import numpy as np
import pytest

from teachers.libero.robosuite import RobosuiteConfig, RobosuiteTeacher
from teachers.registry import ROBOSUITE, make_teacher, teacher_module
from world_model.errors import InputError


def test_lift_is_drawn_from_its_seed_and_branches_exactly():
    teacher = RobosuiteTeacher(RobosuiteConfig("Lift"))
    seen = teacher.reset("Lift/5", render=False)
    first = teacher.state
    assert teacher.state_names == ("cube_x", "cube_y", "cube_z", "cube_qw", "cube_qx", "cube_qy", "cube_qz")
    teacher.reset("Lift/6", render=False)
    assert not np.array_equal(teacher.state, first)
    again = teacher.reset("Lift/5", render=False)
    assert np.array_equal(teacher.state, first)
    assert np.array_equal(again.proprio, seen.proprio)
    chunks = np.random.default_rng(0).uniform(-1, 1, (4, 4, 7))
    teacher.step(chunks[0], render=False)
    (branch,) = teacher.branch(1)
    for actions in chunks[1:]:
        expected = teacher.step(actions, render=False)
        found = branch.step(actions, render=False)
        assert np.array_equal(found.observation.proprio, expected.observation.proprio)
        assert found.labels == expected.labels
    assert np.array_equal(branch.state, teacher.state)
    assert branch.labels()["success"] == 0.0


def test_a_lifted_cube_is_a_success():
    teacher = RobosuiteTeacher(RobosuiteConfig("Lift"))
    teacher.reset("Lift/5", render=False)
    data = teacher.world.sim.data
    pose = data.get_joint_qpos("cube_joint0").copy()
    pose[2] += 0.3
    data.set_joint_qpos("cube_joint0", pose)
    assert teacher.step(np.zeros((4, 7)), render=False).labels["success_since"] == 1.0


@pytest.mark.slow
@pytest.mark.parametrize("name", [f"robosuite_{task}" for task in ROBOSUITE])
def test_every_task_starts(name):
    teacher = make_teacher(name)
    start = teacher_module(name).training_start(np.random.default_rng(0))
    teacher.reset(start, render=False)
    state, physics = teacher.state, teacher.snapshot()
    teacher.step(np.zeros((4, 7)), render=False)
    assert teacher.contract.name == name
    assert len(teacher.state_names) == len(state) > 0
    teacher.restore(physics)
    assert np.array_equal(teacher.state, state)


def test_mistakes():
    with pytest.raises(InputError, match="there is no robosuite task 'Juggle' here; the tasks are Lift, Stack"):
        RobosuiteTeacher(RobosuiteConfig("Juggle"))
    for start in ("Stack/1", "Lift/x", "Lift/1000000"):
        with pytest.raises(InputError, match=f"start '{start}' is unknown; use 'Lift/<seed>'"):
            RobosuiteTeacher().reset(start)
