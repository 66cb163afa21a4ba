import numpy as np
import pytest

from teachers.libero.suites import SPLITS, SUITES, find_task, initial_states, parse_start, starts, tasks
from world_model.errors import InputError


def test_130_tasks_in_five_suites():
    assert [len(tasks(suite)) for suite in SUITES] == [10, 10, 10, 10, 90]
    task = find_task("libero_goal", 8)
    assert task.language == "put the bowl on the plate"
    assert find_task("libero_goal", "8") is find_task("libero_goal", task.name) is task
    assert task.bddl.is_file()


def test_starts_belong_to_one_split():
    start = parse_start("libero_goal/put_the_bowl_on_the_plate/12")
    assert (start.task.index, start.init, str(start)) == (8, 12, "libero_goal/8/12")
    assert sorted(i for split in SPLITS.values() for i in split) == list(range(50))
    assert starts("libero_goal", "test", [8]) == [f"libero_goal/8/{i}" for i in range(40, 50)]
    assert len(starts("libero_10")) == 300


def test_initial_states_are_the_benchmarks():
    states = initial_states(find_task("libero_goal", 8))
    assert states.shape == (50, 79)  # time, 41 positions, 37 velocities
    assert states.dtype == np.float64


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("libero_chess/0/1", "there is no LIBERO suite 'libero_chess'; the suites are libero_spatial"),
        ("libero_goal/10/1", "libero_goal has no task 10; its tasks are numbered 0 to 9"),
        ("libero_goal/fly/1", "libero_goal has no task 'fly'; give a number from 0 to 9 or one of its names"),
        ("libero_goal/1/50", "has no initial state 50; they are numbered 0 to 49"),
        ("seed-3", "start 'seed-3' is unknown; use '<suite>/<task>/<init>'"),
    ],
)
def test_mistakes(name, says):
    with pytest.raises(InputError, match=says):
        parse_start(name)


def test_an_unknown_split():
    with pytest.raises(InputError, match="there is no split 'exam'; use train, validation, test"):
        starts("libero_goal", "exam")
