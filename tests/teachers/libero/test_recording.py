"""Recorded episodes: the same again, played back exactly, and in the same columns for all tasks of a suite."""

import numpy as np
import pytest

from teachers.libero.behaviours import RECIPES, different_goals, goals, holds
from teachers.libero.layout import layout_of, measure_layout
from teachers.libero.object_state import ObjectState
from teachers.libero.recording import BLOCK, LiberoRecorder
from teachers.libero.teacher import LiberoConfig, LiberoTeacher
from teachers.libero.world import LiberoWorld
from teachers.recording import make_recorder, recorder_for
from world_model.errors import InputError

OPTIONS = {"tasks": ("8", 7), "behaviours": ("expert",), "size": 32, "look": "fast"}


@pytest.fixture(scope="module")
def recorder(drawing):
    return LiberoRecorder("validation", 3, OPTIONS)


@pytest.fixture(scope="module")
def episode(recorder):
    """The expert turns on the stove."""
    return recorder.record(0)


def same(one, other):
    assert one.labels.keys() == other.labels.keys()
    assert all(np.array_equal(one.labels[k], other.labels[k]) for k in one.labels)
    for name in ("frames", "proprio", "actions", "state", "simulation"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name
    return True


def column(episode, recorder, name):
    return episode.state[:, recorder.spec.state_names.index(name)]


def test_an_episode_is_what_was_planned(recorder, episode):
    plan = recorder.plan(0)
    assert episode.start == plan.start
    assert episode.start.startswith("libero_goal/7/3")
    assert episode.behaviour == "expert"
    assert recorder.spec.tasks[episode.task] == "turn on the stove"
    assert episode.frames.shape[1:] == (32, 64, 3)
    assert episode.actions.shape[1:] == (4, 7)
    assert np.abs(episode.actions).max() <= 1
    assert episode.labels["success_since"].max() == 1
    first = int(episode.labels["success_since"].argmax())
    assert len(episode) == first + plan.after + 1
    assert np.array_equal(episode.labels["success"], episode.labels["success_7"])
    knob = column(episode, recorder, "flat_stove_1_button")
    assert abs(knob[first] - knob[0]) > 0.3


def test_another_process_would_record_the_same(recorder, episode):
    assert same(LiberoRecorder("validation", 3, OPTIONS).record(0), episode)


def test_the_recorded_actions_lead_through_the_recorded_frames(recorder, episode):
    teacher = LiberoTeacher(recorder.teacher.config)
    teacher.reset(episode.start, render=False)
    for i, actions in enumerate(episode.actions):
        taken = teacher.step(actions, render=i == len(episode.actions) - 1)
        assert np.array_equal(taken.observation.proprio, episode.proprio[i + 1])
    assert np.array_equal(taken.observation.frames["agentview"], episode.frames[-1, :, :32])
    assert np.array_equal(taken.observation.frames["wrist"], episode.frames[-1, :, 32:])


def test_every_row_restores_the_simulator_exactly(recorder, episode):
    teacher, row = LiberoTeacher(recorder.teacher.config), len(episode) // 2
    seen = teacher.resume(episode.start, episode.simulation[row])
    assert np.array_equal(seen.frames["agentview"], episode.frames[row, :, :32])
    for i in range(row, row + 3):
        taken = teacher.step(episode.actions[i], render=False)
        assert np.array_equal(taken.observation.proprio, episode.proprio[i + 1])
    with pytest.raises(InputError, match="not of this scene"):
        teacher.resume(episode.start, episode.simulation[row][:-30])


def test_the_hand_is_where_the_camera_sees_it(recorder, episode):
    origin = np.array([0.65861317, 0.0, 1.61035002])  # of agentview, which looks along -x and down; its fovy is 45
    back = np.array([0.777998244, 0.0, 0.628266450])
    up, right = np.array([-0.628266450, 0.0, 0.777998244]), np.array([0.0, 1.0, 0.0])
    away = episode.proprio[:, :3] - origin
    depth = -(away @ back) * np.tan(np.radians(22.5))
    assert column(episode, recorder, "agentview_hand_u") == pytest.approx(away @ right / depth, abs=1e-5)
    assert column(episode, recorder, "agentview_hand_v") == pytest.approx(-(away @ up) / depth, abs=1e-5)
    wide = [column(episode, recorder, f"agentview_{side}_finger_u") for side in ("left", "right")]
    assert (np.abs(wide[0] - wide[1]) < 0.3).all()


def test_absent_objects_are_zero_and_said_to_be_so():
    reader = ObjectState(layout_of("libero_object"), ("wrist",))
    world = LiberoWorld.open("libero_object", 0)
    world.reset(3)
    values = dict(zip(reader.names, reader.read(world), strict=True))
    assert len(reader.names) == len(values)
    here = {name.removesuffix("_here") for name, value in values.items() if name.endswith("_here") and value}
    assert here == set(world.object_poses())
    absent = set(layout_of("libero_object").objects) - here
    assert absent
    assert all(v == 0 for name, v in values.items() if any(gone in name for gone in absent))
    place = world.object_poses()["basket_1"][:3]
    assert [values[f"basket_1_{axis}"] for axis in "xyz"] == pytest.approx(place)


@pytest.mark.parametrize(("suite", "task"), [("libero_goal", 3), ("libero_object", 4)])
def test_the_kept_layout_covers_the_scenes(suite, task):
    kept, found = layout_of(suite), measure_layout(suite, [task])
    assert set(found.objects) <= set(kept.objects)
    assert (found.fixtures, found.joints) == (kept.fixtures, kept.joints)
    assert found.simulation_width <= kept.simulation_width


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("suite", ["libero_goal", "libero_object", "libero_spatial", "libero_10"])
def test_the_kept_layout_is_that_of_all_scenes(suite):
    assert measure_layout(suite) == layout_of(suite)


def test_starts_follow_the_split_and_take_turns():
    recorder = LiberoRecorder("train", 0, {"tasks": ("1", "5")})
    plans = [recorder.plan(i) for i in range(2 * 30)]
    assert [plan.start.split("/")[1] for plan in plans] == (["1"] * BLOCK + ["5"] * BLOCK) * 6
    for task in "15":
        inits = sorted(int(p.start.split("/")[2]) for p in plans if p.start.split("/")[1] == task)
        assert inits == list(range(30))
    again = LiberoRecorder("train", 1, {"tasks": ("1", "5")})
    assert [again.plan(i).start for i in range(60)] != [p.start for p in plans]
    validation = LiberoRecorder("validation", 0, {})
    assert {int(validation.plan(i).start.split("/")[2]) for i in range(400)} == set(range(30, 40))
    assert recorder.length(0) is None


def test_the_mixture_holds_every_behaviour():
    recorder = LiberoRecorder("train", 0, {})
    counts = dict.fromkeys(RECIPES, 0)
    for i in range(1000):
        counts[recorder.plan(i).behaviour] += 1
    assert sum(recipe.share for recipe in RECIPES.values()) == pytest.approx(1)
    for name, recipe in RECIPES.items():
        assert counts[name] / 1000 == pytest.approx(recipe.share, abs=0.05)


def test_suites_of_different_goals_judge_all_of_them():
    for suite in ("libero_goal", "libero_object", "libero_10"):
        assert different_goals(suite) == goals(suite)
    assert different_goals("libero_spatial") == ()  # the same bowl on the same plate in all of its tasks


def test_a_goal_whose_things_are_missing_does_not_hold():
    world = LiberoWorld.open("libero_object", 0)
    world.reset(0)
    judged = [holds(world, goal) for goal in different_goals("libero_object")]
    assert judged == [False] * 10  # nothing lies in the basket, and half of the things are not here


def test_the_suites_name_is_a_teacher_too():
    recorder = make_recorder("libero_object", "train", 0, {"size": 64, "cameras": ("wrist",)})
    assert recorder.spec.contract.name == "libero_object"
    assert recorder.spec.video_keys == ("observation.images.wrist",)
    assert recorder.describe()["suite"] == "libero_object"


def test_a_contract_finds_its_recorder():
    contract = LiberoTeacher(LiberoConfig("libero_object", ("wrist",), 64, 10.0, "fast")).contract
    recorder = recorder_for(contract, "test", 1, {"behaviours": ("expert",)})
    assert recorder.spec.contract == contract
    assert {int(recorder.plan(i).start.split("/")[2]) for i in range(200)} == set(range(40, 50))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"suite": "libero_moon"}, "no LIBERO suite 'libero_moon'"),
        ({"tasks": ("12",)}, "no task 12"),
        ({"tasks": ("fly",)}, "no task 'fly'"),
        ({"cameras": ("roof",)}, r"cameras are \['roof'\]"),
        ({"behaviours": ("dance",)}, "behaviour 'dance' is unknown"),
        ({"look": "area"}, "look is 'area'"),
        ({"size": 0}, "size is 0"),
        ({"frame_hz": 7.0}, "frame_hz is 7"),
        ({"goal": (1.0, 2.0, 3.0)}, "LIBERO has no option 'goal'"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        LiberoRecorder("train", 0, options)


@pytest.mark.parametrize("name", ["wrong", "given_up", "wander", "beside", "empty", "late", "noisy"])
def test_every_behaviour_acts_within_bounds(monkeypatch, name):
    recorder = LiberoRecorder("train", 5, {"tasks": ("8",), "behaviours": (name,)})
    black = {c.name: np.zeros((128, 128, 3), np.uint8) for c in recorder.spec.contract.cameras}
    monkeypatch.setattr(recorder.teacher, "render", lambda: black)
    episode = recorder.record(0)
    assert np.isfinite(episode.actions).all()
    assert episode.behaviour == name
    assert 5 < len(episode) <= 71
    if name in ("wander", "empty"):
        assert episode.labels["success_since"].max() == 0
