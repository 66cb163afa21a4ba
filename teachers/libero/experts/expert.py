"""The scripted expert: plans a task from its goal and does its steps until they are true, or given up."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from teachers.libero.experts.carrying import Carrier, Niche
from teachers.libero.experts.dials import turn_dial
from teachers.libero.experts.doors import close_door, open_door
from teachers.libero.experts.drawers import close_drawer, open_drawer
from teachers.libero.experts.geometry import Array
from teachers.libero.experts.knobs import Knobs
from teachers.libero.experts.motion import OPEN, Actions, Arm
from teachers.libero.experts.pushing import drag
from teachers.libero.experts.scene import Scene
from teachers.libero.experts.spots import aside, spot
from teachers.libero.experts.tasks import Step, plan

REST: Array = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, OPEN])


class ScriptedExpert:
    """Privileged behaviour for one episode of one LIBERO task.

    ``act()`` looks at the world as it is and returns the next action; the caller steps the world. After the
    last step `done` is True and ``act()`` rests. The same world, knobs and generator give the same actions.

    Raises:
        InputError: the goal has a predicate that no step makes true.
    """

    def __init__(self, world: Any, knobs: Knobs, generator: np.random.Generator) -> None:
        """``world`` is a `LiberoWorld` that was just reset; ``generator`` feeds the knobs alone."""
        self.scene = Scene(world)
        self.knobs, self.generator = knobs, generator
        self.steps = plan(self.scene.goal)
        self.arm = Arm(self.scene, knobs, generator)
        self.carrier = Carrier(self.arm)
        self.done = False
        self._actions = self._run()

    def act(self) -> NDArray[np.float32]:
        """Next action ``(7,)`` in -1 to 1."""
        action = next(self._actions, None)
        self.done = self.done or action is None
        return np.asarray(REST if action is None else action, np.float32)

    def __iter__(self) -> Iterator[NDArray[np.float32]]:
        """Actions until `done`; step the world between them."""
        while True:
            action = self.act()
            if self.done:
                return
            yield action

    def _run(self) -> Actions:
        steps = self._confused() if self.generator.random() < self.knobs.wrong_object else self.steps
        for _ in range(self.knobs.attempts):
            for step in steps:
                if not self.scene.holds(list(step.predicate)):
                    yield from self._do(step)
            if all(self.scene.holds(list(step.predicate)) for step in steps):
                return

    def _confused(self) -> tuple[Step, ...]:
        """The same steps with another object in the place of each that should be carried."""
        return tuple(self._swap(step) if step.verb == "put" else step for step in self.steps)

    def _swap(self, step: Step) -> Step:
        named = {word for other in self.steps for word in other.predicate} | {
            step.target and self.scene.owner(step.target)
        }
        others = [name for name in self.scene.movable if name not in named]
        if not others:
            return step
        thing = others[int(self.generator.integers(len(others)))]
        return Step(step.verb, thing, step.target, (step.predicate[0], thing, *step.predicate[2:]))

    def _do(self, step: Step) -> Actions:
        return {
            "open": lambda s: self._ensure_open(s.thing),
            "close": lambda s: (close_door if self.scene.hinged(s.thing) else close_drawer)(self.arm, s.thing),
            "turn on": lambda s: turn_dial(self.arm, s.thing, True),
            "turn off": lambda s: turn_dial(self.arm, s.thing, False),
            "put": self._put,
        }[step.verb](step)

    def _ensure_open(self, name: str) -> Actions:
        """Open a drawer or door that is not open."""
        for _ in range(self.knobs.attempts):
            if self.scene.holds(["open", name]):
                return
            yield from (open_door if self.scene.hinged(name) else open_drawer)(self.arm, name)

    def _take_from_under(self, thing: str, drawer: str) -> Actions:
        """Take what the open drawer is in the way of: shut it, set the thing aside, and open it again."""
        yield from close_drawer(self.arm, drawer)
        yield from self.carrier.take(thing, self.knobs.attempts)
        yield from self.carrier.put(thing, aside(self.scene, thing, drawer))
        yield from self._ensure_open(drawer)
        yield from self.carrier.take(thing, self.knobs.attempts)

    def _put(self, step: Step) -> Actions:
        assert step.target is not None
        if step.thing.startswith("plate"):
            yield from drag(self.arm, step.thing, self.scene.position(step.target)[:2])
            return
        if self.scene.has_joint(step.target) and self.scene.is_region(step.target):
            yield from self._ensure_open(step.target)
        drawer = self.scene.open_drawer_near(step.thing, step.target)
        yield from self.carrier.take(step.thing, 1 if drawer else self.knobs.attempts)
        if drawer and not self.carrier.holds(step.thing):
            yield from self._take_from_under(step.thing, step.target)
        sharing = [other.thing for other in self.steps if other.target == step.target]
        index = sharing.index(step.thing) if step.thing in sharing else 0
        place = spot(self.scene, step.thing, step.target, (index, max(1, len(sharing))))
        if isinstance(place, Niche):
            yield from self.carrier.thrust(step.thing, place)
        else:
            yield from self.carrier.put(step.thing, place)
