"""Picking an object up and putting it down."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from teachers.libero.experts.geometry import (
    Array,
    long_side,
    rotation_about,
    rotation_about_z,
    sidestep,
    turn_between,
    up,
)
from teachers.libero.experts.grasps import Grasp, plan_grasps
from teachers.libero.experts.motion import CLOSE, EXACT, NEAR, OPEN, Actions, Arm, Tolerance

LIFT = 0.20  # m above where it was held
LYING = 1.35  # rad: a tall thing tilted so far falls on its side when it is let go
TAKEN = 0.04  # m that a held object must have risen


@dataclass(frozen=True)
class Spot:
    """Where an object is to go: its origin over ``xy`` ``(2,)``, its lowest point at ``floor`` when the fingers open.

    Its lowest point passes at ``clear`` or higher. All in metres.
    """

    xy: Array
    floor: float
    clear: float
    along: Array | None = None
    """Horizontal direction ``(2,)`` that its long side must have, where that matters."""
    tip: Array | None = None
    """Horizontal direction ``(3,)`` in which its foot points, where it is too tall to stand."""


@dataclass(frozen=True)
class Niche:
    """A place open at one side: the object's origin goes to ``centre`` ``(3,)``, moving along ``into`` ``(3,)``."""

    centre: Array
    into: Array
    depth: float  # of ``centre`` behind the opening
    tilt: float = np.pi / 2  # rad: of the hand from straight down


class Carrier:
    """Carries one object at a time; remembers what it tried so that a second try is another one."""

    def __init__(self, arm: Arm) -> None:
        self.arm, self.scene = arm, arm.scene
        self.tried: dict[str, list[Grasp]] = {}
        self.rotation = arm.rest

    def grasp(self, name: str) -> Grasp | None:
        """The best grasp that differs from those tried before; from the first again when all are."""
        arm, scene = self.arm, self.scene
        found = plan_grasps(scene.points(name), scene.obstacles(name), arm.finger_axis, scene.hand, scene.foot)
        tried = self.tried.setdefault(name, [])
        fresh = [grasp for grasp in found if all(grasp.far_from(other) for other in tried)]
        if not fresh:
            tried.clear()
        if not found:
            return None
        best = (fresh or found)[0]
        tried.append(best)
        return best

    def pick(self, name: str) -> Actions:
        """Take an object from above and lift it; `holds` tells whether it worked."""
        arm, scene = self.arm, self.scene
        grasp = self.grasp(name)
        if grasp is None:
            return
        self.rotation = rotation_about_z(grasp.yaw) @ arm.rest
        site = arm.blur(grasp.site, 0.2)
        above = arm.blur(grasp.site + up(0.09))
        above[2] = max(above[2], min(scene.hand[2], above[2] + 0.08))
        yield from arm.travel(above, self.rotation, OPEN)
        yield from arm.go(site + up(0.06), self.rotation, OPEN, NEAR)
        yield from arm.go(site, self.rotation, OPEN, EXACT, speed=0.7)
        yield from self._close()
        low = scene.hand
        yield from arm.go(low + up(0.04), self.rotation, self.squeeze, Tolerance(steps=15), speed=0.5)
        aside = np.append(sidestep(scene.points(name), scene.obstacles(name)), 0.0)
        if aside.any() and self.holds(name):
            low = low + aside
            yield from arm.go(low + up(0.04), self.rotation, self.squeeze, Tolerance(steps=30), speed=0.6)
        yield from arm.go(low + up(LIFT), self.rotation, self.squeeze, Tolerance(0.02, steps=50))

    def _close(self) -> Actions:
        """Close where the hand is (a contact is not fought), or too late, or never."""
        arm, knobs = self.arm, self.arm.knobs
        missed = bool(knobs.missed_grasp) and arm.generator.random() < knobs.missed_grasp
        self.squeeze = OPEN if missed else CLOSE
        here = self.scene.hand
        for step in range(knobs.late_grasp):
            yield arm.towards(here + up(0.01 * (step + 1)), self.rotation, OPEN)
        yield from arm.hold(self.scene.hand, self.rotation, self.squeeze, 8)

    def holds(self, name: str) -> bool:
        """Whether an object hangs in the hand: near the fingers, which are not quite shut."""
        near = np.linalg.norm(self.scene.points(name) - self.scene.hand, axis=1).min() < 0.04
        return bool(near) and self.scene.opening > 0.001

    def take(self, name: str, attempts: int) -> Actions:
        """Pick an object up, with other grasps when one fails."""
        for _ in range(attempts):
            before = self.scene.position(name)[2]
            yield from self.pick(name)
            if self.scene.position(name)[2] > before + TAKEN and self.holds(name):
                return
            yield from self.arm.rise(0.1, OPEN)

    def put(self, name: str, spot: Spot) -> Actions:
        """Put the held object down at a spot, open the fingers, and rise."""
        arm, scene = self.arm, self.scene
        rotation = self.rotation
        if spot.along is not None:
            rotation = rotation_about_z(turn_between(long_side(scene.points(name)), spot.along)) @ rotation
        if spot.tip is not None:
            rotation = rotation_about(np.cross([0.0, 0.0, -1.0], spot.tip), LYING) @ rotation
        if not self.holds(name):
            return
        goal = self._site(name, spot, max(spot.clear, spot.floor + 0.06), rotation)
        if arm.knobs.waypoint_noise:
            middle = arm.blur((goal + scene.hand) / 2)
            middle[2] = max(middle[2], scene.hand[2])
            yield from arm.go(middle, rotation, CLOSE, Tolerance(0.04))
        yield from arm.travel(goal + arm.bias, rotation, CLOSE, name)
        if not self.holds(name):
            yield from arm.rise(0.05, OPEN)
            return
        fit = Tolerance(0.012, steps=80) if spot.along is None else Tolerance(0.003, 0.03, 80)
        yield from arm.go(goal + arm.bias, rotation, CLOSE, fit)
        goal = self._site(name, spot, spot.floor, rotation)  # again: it may have slipped
        yield from arm.go(goal + arm.bias, rotation, CLOSE, EXACT, speed=0.6)
        yield from arm.hold(goal + arm.bias, rotation, OPEN, 6)
        yield from arm.rise(0.12, OPEN, rotation)

    def thrust(self, name: str, niche: Niche) -> Actions:
        """Turn the hand, object ahead, and bring it into a niche; the hand stays outside."""
        arm, scene = self.arm, self.scene
        if not self.holds(name):
            return
        out = -niche.into
        rotation = rotation_about(np.cross([0.0, 0.0, -1.0], niche.into), niche.tilt) @ self.rotation
        ahead = scene.points(name) - scene.hand
        reach = float((ahead @ scene.hand_rotation[:, 2]).max())
        before = niche.centre + out * (niche.depth + max(reach, 0.0) + 0.06)
        yield from arm.travel(before + up(0.05), rotation, CLOSE, name)
        yield from arm.go(self._origin(name, before, rotation), rotation, CLOSE, Tolerance(0.015, 0.1, 80))
        if not self.holds(name):
            yield from arm.rise(0.05, OPEN, rotation)
            return
        goal = self._origin(name, niche.centre, rotation) + arm.bias
        yield from arm.go(goal, rotation, CLOSE, EXACT, speed=0.6)
        yield from arm.hold(scene.hand, rotation, OPEN, 6)
        yield from arm.go(scene.hand + out * 0.15, rotation, OPEN, Tolerance(0.02, steps=30))
        yield from arm.rise(0.12, OPEN, rotation)

    def _site(self, name: str, spot: Spot, lowest: float, rotation: Array) -> Array:
        """Where the hand, turned to ``rotation``, has the held object over a spot, its foot at ``lowest``."""
        turn = rotation @ self.scene.hand_rotation.T
        shape = (self.scene.points(name) - self.scene.hand) @ turn.T
        offset = (turn @ (self.scene.position(name) - self.scene.hand))[:2]
        if spot.along is not None:  # a slot: its shape must fit, wherever its origin is
            offset = (shape.max(0) + shape.min(0))[:2] / 2
        return np.array([*(spot.xy - offset), lowest - shape[:, 2].min()])

    def _origin(self, name: str, goal: Array, rotation: Array) -> Array:
        """Where the hand, turned to ``rotation``, has the held object's origin at ``goal``."""
        turn = rotation @ self.scene.hand_rotation.T
        return goal - turn @ (self.scene.position(name) - self.scene.hand)
