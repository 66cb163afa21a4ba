"""LIBERO dressed and undressed: bit-equal when plain, another look and other physics when not, exact moments."""

import dataclasses
import io

import numpy as np
import pytest

from world_model.extras import absent

if absent("libero"):
    pytest.skip("LIBERO is not installed: pip install '.[libero]'", allow_module_level=True)

from teachers.appearance.drawing import draw_appearance
from teachers.appearance.libero import RealLiberoTeacher
from teachers.appearance.paired import PairedTeacher
from teachers.appearance.worlds import two_looks
from teachers.libero.recording import LiberoRecorder
from teachers.libero.teacher import LiberoConfig, LiberoTeacher
from teachers.registry import make_teacher

START = "libero_goal/8/3"
CONFIG = LiberoConfig("libero_goal", size=64)


@pytest.fixture(scope="module")
def plain():
    return LiberoTeacher(CONFIG)


@pytest.fixture(scope="module")
def real():
    return RealLiberoTeacher(CONFIG)


@pytest.fixture(scope="module")
def chunks():
    chunks = np.random.default_rng(1).uniform(-1, 1, (4, 4, 7)).astype(np.float32)
    chunks[:, :, 2] = -0.9
    return chunks


def moments(teacher, chunks):
    """State and velocities after each frame."""
    found = [teacher.world.sim.get_state().flatten()]
    for actions in chunks:
        teacher.step(actions, render=False)
        found.append(teacher.world.sim.get_state().flatten())
    return np.stack(found)


def test_taking_it_off_leaves_no_trace_in_frames_and_physics(plain, real, chunks, drawing):
    before = plain.reset(START)
    frames, states = before.frames, moments(plain, chunks)
    real.dress(1)
    dressed = real.reset(START)
    other = moments(real, chunks)
    world = real.world
    world.wear(None)
    world.reset(3)
    undressed = real.render()
    again = moments(real, chunks)
    for camera in ("agentview", "wrist"):
        assert np.array_equal(undressed[camera], frames[camera])
        assert np.abs(dressed.frames[camera].astype(int) - frames[camera]).mean() > 10
    assert np.array_equal(again, states)
    assert not np.array_equal(other, states)
    assert np.abs(other - states).max() < 1.0  # slightly other physics: the arm goes about the same way
    assert np.abs(other[:, 1:8] - states[:, 1:8]).max() < 0.05


def test_a_seed_looks_the_same_whatever_was_worn_before(real, chunks, drawing):
    real.dress(2)
    first = real.reset(START).frames
    for seed in (3, 4):
        real.dress(seed)
        different = real.reset(START).frames
        assert np.abs(different["agentview"].astype(int) - first["agentview"]).mean() > 5
    assert real.dress(2) == draw_appearance(2).to_dict()
    again = real.reset(START).frames
    assert all(np.array_equal(again[camera], first[camera]) for camera in first)
    assert np.array_equal(real.render()["wrist"], again["wrist"])  # the noise belongs to the state


@pytest.mark.slow
def test_a_dressed_moment_goes_on_exactly_and_travels(real, chunks, drawing):
    real.dress(5)
    real.reset(START, render=False)
    real.step(chunks[0], render=False)
    file = io.BytesIO()
    np.savez(file, **real.snapshot())
    expected = real.step(chunks[1])
    (branch,) = real.branch(1)
    file.seek(0)
    other = RealLiberoTeacher(CONFIG)
    other.dress(6)
    other.reset(START, render=False)  # the world now wears something else
    with np.load(file, allow_pickle=False) as saved:
        other.restore(dict(saved))
    found = other.step(chunks[1])
    assert np.array_equal(found.observation.proprio, expected.observation.proprio)
    for camera, frame in expected.observation.frames.items():
        assert np.array_equal(found.observation.frames[camera], frame)
        assert np.array_equal(branch.render()[camera], frame)


@pytest.mark.slow
def test_distractors_are_seen_and_touch_nothing(real, chunks, drawing):
    world = real.reset(START, render=False) and real.world
    worn = draw_appearance(7)
    assert [thing.place[1] > 0.3 for thing in worn.distractors] == [True, True]  # beside the stove, in full view
    found = []
    for things in (worn.distractors, ()):
        world.wear(dataclasses.replace(worn, distractors=things))
        world.reset(3)
        found.append((real.render()["agentview"].astype(int), moments(real, chunks)))
    assert (np.abs(found[0][0] - found[1][0]).max(-1) > 25).sum() > 10
    assert np.array_equal(found[0][1], found[1][1])


@pytest.mark.slow
def test_a_plain_moment_is_seen_in_the_present_look(plain, real, drawing):
    plain.reset(START, render=False)
    real.dress(7)
    real.reset(START, render=False)
    real.restore(plain.snapshot())
    assert real.world.appearance == draw_appearance(7)
    assert np.array_equal(real.state, plain.state)


@pytest.mark.slow
def test_both_domains_are_paired_and_registered(plain, real, chunks, drawing):
    pair = PairedTeacher(plain, real, real.dress).play(START, chunks[:2], seed=9)
    assert len(pair) == 3
    assert pair.appearance == draw_appearance(9).to_dict()
    assert pair.sim.frames.shape == pair.real.frames.shape == (3, 64, 128, 3)
    assert np.abs(pair.sim.proprio - pair.real.proprio).max() < 0.05
    twin = two_looks("libero_goal").make_twin(plain.contract)
    assert twin.teacher.config == CONFIG
    assert two_looks("libero_goal").make_twin().teacher.config.look == "fast"
    assert twin.dress(9) == pair.appearance
    recorder = LiberoRecorder("train", 0, {"suite": "libero_goal"})
    assert (twin.notes.state_names, twin.notes.label_names) == (recorder.spec.state_names, recorder.spec.label_names)
    assert make_teacher("libero_10-real").contract.name == "libero_10"
