"""What the arm does in recorded episodes: the expert, the expert made worse on purpose, and no plan at all."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from teachers.libero.experts.expert import ScriptedExpert
from teachers.libero.experts.knobs import Knobs
from teachers.libero.experts.tasks import Step, plan
from teachers.libero.simulator import libero, private
from teachers.libero.suites import Task, tasks
from world_model.errors import InputError

Goal = list[list[str]]
Actions = Iterator[NDArray[np.floating]]
"""One action ``(7,)`` in [-1, 1] per control step, for as long as there is something to do."""
STAY = np.zeros(7)
OPEN = np.array([0, 0, 0, 0, 0, 0, -1.0])


@dataclass(frozen=True)
class Scene:
    """What a behaviour may use."""

    world: Any
    generator: np.random.Generator


@dataclass(frozen=True)
class Recipe:
    """A way to act, and how often it is recorded."""

    share: float
    behaviour: Callable[[Scene], Actions]


def expert(scene: Scene) -> Actions:
    """The scripted expert, at any speed."""
    return _scripted(scene, Knobs(speed=_between(scene, 0.7, 1.0)))


def noisy(scene: Scene) -> Actions:
    """Shaking, and not quite where it should be; mostly succeeds."""
    return _scripted(
        scene, Knobs(action_noise=_between(scene, 0.1, 0.4), waypoint_noise=_between(scene, 0.0, 0.015), attempts=2)
    )


def beside(scene: Scene) -> Actions:
    """Misses everything by the same centimetres, and does not try again: near misses of grasps and places."""
    return _scripted(scene, Knobs(waypoint_bias=_between(scene, 0.015, 0.05), attempts=1))


def late(scene: Scene) -> Actions:
    """Closes the fingers too late."""
    return _scripted(scene, Knobs(late_grasp=int(scene.generator.integers(2, 9)), attempts=1))


def empty(scene: Scene) -> Actions:
    """Carries nothing: the fingers stay open."""
    return _scripted(scene, Knobs(missed_grasp=1.0, speed=_between(scene, 0.7, 1.0), attempts=1))


def wrong(scene: Scene) -> Actions:
    """Does what another task of this scene asks for, or the right thing with a wrong object."""
    others = [goal for goal in goals(scene.world.task.suite) if _possible(scene.world, goal)]
    if not others or scene.generator.random() < 0.3:
        return _scripted(scene, Knobs(wrong_object=1.0, attempts=1))
    goal = others[int(scene.generator.integers(len(others)))]
    return _scripted(scene, Knobs(speed=_between(scene, 0.7, 1.0), attempts=1), plan(goal))


def given_up(scene: Scene) -> Actions:
    """The expert until some moment, then it lets go and wanders off."""
    rest = int(scene.generator.integers(20, 130))
    for action in _scripted(scene, Knobs(action_noise=_between(scene, 0.0, 0.2))):
        if rest == 0:
            break
        rest -= 1
        yield action
    away = wander(scene)
    for _ in range(int(scene.generator.integers(12, 40))):
        yield np.append(next(away)[:6], OPEN[6])


def wander(scene: Scene) -> Actions:
    """Anywhere, smoothly, with the fingers opening and closing; never ends."""
    generator, push, gripper = scene.generator, np.zeros(6), -1.0
    while True:
        push = 0.85 * push + generator.normal(0.0, [0.35, 0.35, 0.35, 0.08, 0.08, 0.15])
        if generator.random() < 0.04:
            gripper = -gripper
        yield np.append(push.clip(-1, 1), gripper)


RECIPES = MappingProxyType(
    {
        "expert": Recipe(0.30, expert),
        "noisy": Recipe(0.22, noisy),
        "beside": Recipe(0.12, beside),
        "late": Recipe(0.06, late),
        "empty": Recipe(0.05, empty),
        "wrong": Recipe(0.12, wrong),
        "given_up": Recipe(0.08, given_up),
        "wander": Recipe(0.05, wander),
    }
)
"""Name to recipe; about half of the mixture ends without success."""


def recordable(chosen: tuple[str, ...]) -> list[str]:
    """The named behaviours, or all if none is named.

    Raises:
        InputError: an unknown one.
    """
    unknown = sorted(set(chosen) - set(RECIPES))
    if unknown:
        raise InputError(f"behaviour {unknown[0]!r} is unknown; choose among {', '.join(RECIPES)}")
    return [name for name in RECIPES if name in chosen or not chosen]


@functools.cache
def goals(suite: str) -> tuple[Goal, ...]:
    """Predicates of each task of a suite, in the suite's order."""
    return tuple(_problem(task)["goal_state"] for task in tasks(suite))


@functools.cache
def different_goals(suite: str) -> tuple[Goal, ...]:
    """The goals of a suite that wants another thing in each task, so that all can be judged in all; else none."""
    return goals(suite) if all(a != b for i, a in enumerate(goals(suite)) for b in goals(suite)[:i]) else ()


def holds(world: Any, goal: Goal) -> bool:
    """Whether all predicates of a goal are true now; not where one of its things is missing."""
    return _present(world, goal) and all(bool(world.env._eval_predicate(predicate)) for predicate in goal)


def _scripted(scene: Scene, knobs: Knobs, steps: tuple[Step, ...] | None = None) -> Actions:
    script = ScriptedExpert(scene.world, knobs, scene.generator)
    if steps is not None:
        script.steps = steps
    return iter(script)


def _possible(world: Any, goal: Goal) -> bool:
    """Whether a goal is another one than the task's own, and all its things are here."""
    return goal != world.env.parsed_problem["goal_state"] and _present(world, goal)


def _present(world: Any, goal: Goal) -> bool:
    env = world.env
    here = {*env.objects_dict, *env.fixtures_dict, *env.object_sites_dict}
    return all(name in here for predicate in goal for name in predicate[1:])


def _problem(task: Task) -> dict[str, Any]:
    with private():
        return libero("envs.bddl_utils").robosuite_parse_problem(str(task.bddl))


def _between(scene: Scene, low: float, high: float) -> float:
    return float(scene.generator.uniform(low, high))
