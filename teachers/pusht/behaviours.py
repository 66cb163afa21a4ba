"""Who moves the pusher in recorded episodes: scripted, privileged, and random by an own generator."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from teachers.pusht.base import TableTeacher
from teachers.pusht.contract import ARENA
from teachers.pusht.physics import Pose, PushTWorld
from teachers.pusht.pushes import WALL, Point, Push, clip, detour, misfit, outcome, random_push, unit
from teachers.pusht.starts import centre_of


class View(Protocol):
    """Where things are, by whatever means they are seen."""

    @property
    def agent(self) -> Point: ...

    @property
    def block(self) -> Pose: ...


@dataclass(frozen=True)
class Scene:
    """What a behaviour may look at; values are of the moment they are asked for."""

    teacher: TableTeacher
    sandbox: PushTWorld  # a spare world to try pushes out in
    generator: np.random.Generator
    script: NDArray[np.float32]  # (n, 2) actions to replay, px; empty but for human starts

    @property
    def agent(self) -> Point:
        return np.array(self.teacher.world.state[:2])

    @property
    def block(self) -> Pose:
        return self.teacher.world.block_pose

    @property
    def goal(self) -> Pose:
        return self.teacher.goal


Behaviour = Callable[[Scene], Iterator[Point]]
"""Yields one target in px per control step, for as long as it is asked (a replay may end)."""


def wander(scene: Scene) -> Iterator[Point]:
    """A smooth random walk of the target, drawn towards the block, at one of many speeds."""
    generator = scene.generator
    speed, pull = generator.choice([3.0, 8.0, 16.0, 30.0]), generator.choice([0.0, 0.02, 0.05])
    target, velocity = scene.agent, np.zeros(2)
    while True:
        velocity = 0.85 * velocity + generator.normal(0.0, speed * 0.5, 2)
        target = clip(target + velocity + pull * (centre_of(scene.block) - target))
        velocity = np.where((target <= 0) | (target >= ARENA), -velocity, velocity)
        yield target


def jump(scene: Scene) -> Iterator[Point]:
    """Targets anywhere, each held for a while; some hold still, some press against a wall."""
    generator = scene.generator
    while True:
        kind = generator.random()
        if kind < 0.2:
            target = scene.agent
        elif kind < 0.5:
            target = clip(centre_of(scene.block) + generator.normal(0.0, 60.0, 2))
        else:
            target = clip(generator.uniform(-60.0, ARENA + 60.0, 2))
        for _ in range(generator.integers(1, 13)):
            yield target


def push(scene: Scene) -> Iterator[Point]:
    """Pushes through random points of the block's edge, gentle and hard, in every direction."""
    generator = scene.generator
    while True:
        yield from _execute(scene, _inviting_push(scene), generator.uniform(50.0, 140.0))
        if generator.random() < 0.08:
            target = scene.agent
            for _ in range(generator.integers(1, 8)):
                yield target


def shove(scene: Scene) -> Iterator[Point]:
    """Leans on the block for long: the target runs through a point of the moving block, then through another."""
    generator = scene.generator
    while True:
        yield from _execute(scene, _inviting_push(scene), generator.uniform(60.0, 120.0))
        speed, swerve = float(np.exp(generator.uniform(np.log(3.0), np.log(30.0)))), generator.normal(0.0, 0.12)
        heading = centre_of(scene.block) + generator.normal(0.0, 25.0, 2) - scene.agent
        angle = float(np.arctan2(heading[1], heading[0]))
        target = scene.agent
        for _ in range(generator.integers(8, 26)):
            angle += swerve + generator.normal(0.0, 0.08)
            target = clip(target + speed * unit(angle))
            yield target
            middle = centre_of(scene.block)
            if np.any(middle != clip(middle, 80.0)):
                break  # at a wall: come again from another side


def towards_goal(scene: Scene) -> Iterator[Point]:
    """Pushes that bring the block to its goal: the best of a few tried in the sandbox, done imperfectly."""
    generator = scene.generator
    noise = generator.choice([0.0, 2.0, 6.0])
    while True:
        block, present = scene.block, misfit(scene.block, scene.goal)
        best, best_misfit = None, present + 3.0
        for _ in range(24):
            length = generator.uniform(0.1, 1.3) * min(present, 120.0) + 2.0
            gap, speed = generator.uniform(3.0, 9.0), generator.uniform(0.12, 0.4) * length + 3.0
            candidate = random_push(block, generator, gap, length, speed)
            if np.any(candidate.approach != clip(candidate.approach, WALL)):
                continue
            way = float(np.hypot(*(candidate.approach - scene.agent)))
            left = misfit(outcome(scene.sandbox, block, candidate), scene.goal) + 0.03 * way
            if left < best_misfit:
                best, best_misfit = candidate, left
        if best is None or present < 4.0:
            best = random_push(block, generator, 8.0, generator.uniform(0.0, 12.0), 4.0)
        for target in _execute(scene, best, generator.uniform(60.0, 140.0)):
            yield target + generator.normal(0.0, noise, 2)


def careful(scene: Scene) -> Iterator[Point]:
    """Short slow pushes, with now and then a hard one, for a block that lies near its goal."""
    generator = scene.generator
    while True:
        hard = generator.random() < 0.15
        length = generator.uniform(30.0, 80.0) if hard else generator.uniform(2.0, 22.0)
        speed = generator.uniform(6.0, 25.0) if hard else generator.uniform(1.5, 6.0)
        chosen = random_push(scene.block, generator, generator.uniform(2.0, 7.0), length, speed)
        yield from _execute(scene, chosen, generator.uniform(50.0, 130.0))


def replay(scene: Scene) -> Iterator[Point]:
    """A human demonstration as it was."""
    yield from scene.script.astype(np.float64)


def noisy_replay(scene: Scene) -> Iterator[Point]:
    """A human demonstration whose targets drift: slow noise, so that contacts come out differently."""
    generator = scene.generator
    scale, offset = generator.choice([2.0, 5.0, 12.0]), np.zeros(2)
    for target in scene.script:
        offset = 0.9 * offset + generator.normal(0.0, scale, 2) * 0.44
        yield target + offset


def _inviting_push(scene: Scene) -> Push:
    """A random push, mostly one that is near, starts inside the arena and leads away from a near wall."""
    generator, block = scene.generator, scene.block
    found = []
    for _ in range(12):
        length, speed = generator.uniform(15.0, 180.0), float(np.exp(generator.uniform(np.log(2.5), np.log(45.0))))
        chosen = random_push(block, generator, generator.uniform(4.0, 20.0), length, speed)
        if generator.random() < 0.1:
            return chosen
        end = centre_of(block) + chosen.direction * length
        if np.all(chosen.approach == clip(chosen.approach, WALL)) and np.all(end == clip(end, 90.0)):
            found.append(chosen)
    if not found:
        return random_push(block, generator, 10.0, 60.0, 10.0)
    nearest = generator.integers(1, len(found) + 1)  # of a few: mostly a short way, sometimes a long one
    return min(found[:nearest], key=lambda p: float(np.hypot(*(p.approach - scene.agent))))


def approach(view: View, chosen: Push, travel: float) -> Iterator[Point]:
    """Go around the block to where the push begins, ``travel`` px a step."""
    for corner in detour(view.agent, clip(chosen.approach, WALL), view.block):
        target = view.agent
        while True:
            way = corner - target
            distance = float(np.hypot(*way))
            if distance <= travel:
                break
            target = target + way * (travel / distance)
            yield target
        yield corner


def _execute(scene: Scene, chosen: Push, travel: float) -> Iterator[Point]:
    """Go to where the push begins, then push."""
    yield from approach(scene, chosen, travel)
    lead = unit(scene.generator.uniform(-np.pi, np.pi)) * scene.generator.choice([0.0, 0.0, 3.0])
    for target in chosen.targets():
        yield target + lead


@dataclass(frozen=True)
class Recipe:
    """A behaviour's share of the episodes and the kinds of starts that it begins from."""

    behaviour: Behaviour
    share: float
    starts: tuple[str, ...]


RECIPES: dict[str, Recipe] = {
    "wander": Recipe(wander, 0.05, ("seed", "near")),
    "jump": Recipe(jump, 0.05, ("seed", "near")),
    "push": Recipe(push, 0.22, ("seed", "seed", "near")),
    "shove": Recipe(shove, 0.24, ("seed", "seed", "near")),
    "towards_goal": Recipe(towards_goal, 0.17, ("seed", "seed", "near")),
    "careful": Recipe(careful, 0.13, ("near",)),
    "human": Recipe(replay, 0.07, ("human",)),
    "human_noisy": Recipe(noisy_replay, 0.07, ("human",)),
}
