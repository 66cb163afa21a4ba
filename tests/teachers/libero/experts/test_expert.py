"""The expert in the true simulator: it succeeds, repeats itself, and fails when it is told to."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from teachers.libero.experts.expert import ScriptedExpert
from teachers.libero.experts.knobs import Knobs
from teachers.libero.experts.trials import run_trial
from world_model.extras import absent

pytestmark = pytest.mark.skipif(bool(absent("libero")), reason='needs pip install "simforcing-env[libero]"')


@pytest.fixture(scope="module")
def world() -> Iterator[Any]:
    """Put the soup into the basket, among other groceries."""
    from teachers.libero.world import LiberoWorld

    world = LiberoWorld.open("libero_object", 0)
    yield world
    world.env.close()


def outcome(world: Any, knobs: Knobs, seed: int = 0, limit: int = 250) -> tuple[bool, int]:
    return run_trial(world, 0, knobs, np.random.default_rng(seed), limit)


def first_actions(world: Any, knobs: Knobs, seed: int) -> np.ndarray:
    world.reset(0)
    expert = ScriptedExpert(world, knobs, np.random.default_rng(seed))
    actions = []
    for action in expert:
        world.step(action)
        actions.append(action)
        if len(actions) == 30:
            break
    return np.stack(actions)


def test_it_succeeds_and_its_actions_are_in_range(world: Any) -> None:
    assert outcome(world, Knobs())[0]
    actions = first_actions(world, Knobs(action_noise=0.5), 0)
    assert actions.shape == (30, 7)
    assert actions.dtype == np.float32
    assert np.abs(actions).max() <= 1.0


def test_the_same_generator_gives_the_same_actions(world: Any) -> None:
    noisy = Knobs(action_noise=0.1, waypoint_noise=0.01, waypoint_bias=0.01)
    assert np.array_equal(first_actions(world, noisy, 3), first_actions(world, noisy, 3))
    assert not np.array_equal(first_actions(world, noisy, 3), first_actions(world, noisy, 4))
    assert np.array_equal(first_actions(world, Knobs(), 3), first_actions(world, Knobs(), 4))


def test_fingers_that_stay_open_take_nothing(world: Any) -> None:
    world.reset(0)
    before = world.env.sim.data.body_xpos[world.env.obj_body_id["alphabet_soup_1"]].copy()
    success, _ = outcome(world, Knobs(missed_grasp=1.0, attempts=1))
    after = world.env.sim.data.body_xpos[world.env.obj_body_id["alphabet_soup_1"]]
    assert not success
    assert np.linalg.norm(after - before) < 0.1


def test_another_object_than_asked_for_is_carried(world: Any) -> None:
    world.reset(0)
    start = {name: world.env.sim.data.body_xpos[i].copy() for name, i in world.env.obj_body_id.items()}
    success, _ = outcome(world, Knobs(wrong_object=1.0, attempts=1))
    moved = {
        name
        for name, i in world.env.obj_body_id.items()
        if np.linalg.norm(world.env.sim.data.body_xpos[i] - start[name]) > 0.15
    }
    assert not success
    assert moved
    assert "alphabet_soup_1" not in moved


def test_it_ends_when_it_has_given_up(world: Any) -> None:
    success, steps = outcome(world, Knobs(missed_grasp=1.0, attempts=1), limit=1000)
    assert not success
    assert steps < 400
