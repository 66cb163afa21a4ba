"""The arm: actions that lead the hand to a pose, and the two primitives that all skills are made of.

An action is seven numbers in -1 to 1: hand displacement (1 = 5 cm), rotation vector (1 = 0.5 rad), gripper
(-1 opens, 1 closes, 0 keeps).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from teachers.libero.experts.geometry import Array, clearance, frame, rotation_vector, up
from teachers.libero.experts.knobs import Knobs
from teachers.libero.experts.scene import Scene

OPEN, CLOSE, KEEP = -1.0, 1.0, 0.0
STEP_M, STEP_RAD = 0.05, 0.5  # what an action of 1 asks the controller for
HANG = 0.03  # m of fingers below the grip site, and some air
AIR = 0.015  # m under what is carried over something
HEADROOM = 0.15  # m above its first place to which the hand rises in order to pass over something
REACH = 0.71  # m from shoulder to wrist; at 0.719 the arm is stretched
STRETCHED = -0.46  # rad of the elbow joint at which it is; beyond, pulling the hand back straightens it further
OUTWARDS = 0.03  # m
DOWN = (0.0, 0.0, -1.0)

Actions = Iterator[Array]
"""Yields one action ``(7,)`` per control step."""


@dataclass(frozen=True)
class Tolerance:
    """When a waypoint counts as reached, and when the way there is given up."""

    metres: float = 0.01
    radians: float = 0.08
    steps: int = 60
    patience: int = 12  # steps without getting nearer


PASSING = Tolerance(metres=0.03, radians=0.3)
NEAR = Tolerance(metres=0.012)
EXACT = Tolerance(metres=0.006, steps=40)


class Arm:
    """Moves the hand of one episode; ``rest`` ``(3, 3)`` is the hand straight down, as the episode began."""

    def __init__(self, scene: Scene, knobs: Knobs, generator: np.random.Generator) -> None:
        self.scene, self.knobs, self.generator = scene, knobs, generator
        self.rest = frame(DOWN, scene.hand_rotation[:, 0])
        self.finger_axis = scene.finger_axis
        self.ceiling = float(scene.hand[2]) + HEADROOM
        self.bias = (
            np.append(generator.normal(0.0, knobs.waypoint_bias, 2), 0.0) if knobs.waypoint_bias else np.zeros(3)
        )

    def towards(self, site: ArrayLike, rotation: Array, gripper: float, speed: float = 1.0) -> Array:
        """Action ``(7,)`` that brings the hand nearer to a pose."""
        limit = self.knobs.speed * speed
        move = self._within_reach(np.asarray(site) - self.scene.hand) / STEP_M
        move *= min(1.0, limit / max(float(np.abs(move).max()), 1e-9))
        turn = np.clip(rotation_vector(rotation @ self.scene.hand_rotation.T) / STEP_RAD, -limit, limit)
        arm = np.concatenate([move, turn])
        if self.knobs.action_noise:
            arm = arm + self.generator.normal(0.0, self.knobs.action_noise, 6)
        return np.append(np.clip(arm, -1.0, 1.0), gripper)

    def _within_reach(self, move: Array) -> Array:
        """A displacement ``(3,)`` of the hand, shortened where it would straighten the elbow."""
        arm = self.scene.wrist + move - self.scene.shoulder
        length = float(np.linalg.norm(arm))
        if self.scene.elbow > STRETCHED:  # out the way that it came in
            return move + arm / length * (OUTWARDS - float(move @ arm) / length)
        return move - arm * max(0.0, 1.0 - REACH / length)

    def blur(self, site: ArrayLike, share: float = 1.0) -> Array:
        """A waypoint ``(3,)`` with this episode's bias and ``share`` of the waypoint noise."""
        blurred = np.asarray(site) + self.bias
        if self.knobs.waypoint_noise:
            blurred = blurred + self.generator.normal(0.0, share * self.knobs.waypoint_noise, 3) * [1.0, 1.0, 0.5]
        return blurred

    def go(
        self, site: ArrayLike, rotation: Array, gripper: float, tolerance: Tolerance = Tolerance(), speed: float = 1.0
    ) -> Actions:
        """Move until the hand is there, or comes no nearer (something is in the way)."""
        best, idle = np.inf, 0
        for _ in range(tolerance.steps):
            metres = float(np.linalg.norm(np.asarray(site) - self.scene.hand))
            radians = float(np.linalg.norm(rotation_vector(rotation @ self.scene.hand_rotation.T)))
            if metres < tolerance.metres and radians < tolerance.radians:
                return
            left = metres + 0.1 * radians
            best, idle = (left, 0) if left < best - 5e-4 else (best, idle + 1)
            if idle > tolerance.patience:
                return
            yield self.towards(site, rotation, gripper, speed)

    def hold(self, site: ArrayLike, rotation: Array, gripper: float, steps: int) -> Actions:
        """Stay at a pose, for the fingers to move."""
        for _ in range(steps):
            yield self.towards(site, rotation, gripper)

    def travel(self, site: ArrayLike, rotation: Array, gripper: float, carried: str | None = None) -> Actions:
        """Up, across and above ``site``, over all that stands on the way; ends near it or higher."""
        scene, goal = self.scene, np.asarray(site, np.float64)
        hand = scene.hand
        if np.linalg.norm(goal[:2] - hand[:2]) > 0.05:
            hang = HANG if carried is None else max(HANG, AIR + hand[2] - scene.points(carried)[:, 2].min())
            over = clearance(hand, goal, scene.obstacles(*([carried] if carried else []))) + hang
            over = min(over, self.ceiling)
            if hand[2] < over - 0.02:
                yield from self.go([*hand[:2], over], scene.hand_rotation, gripper, Tolerance(0.03, 0.3, 40))
            goal = np.array([*goal[:2], max(goal[2], over)])
        yield from self.go(goal, rotation, gripper, Tolerance(0.025, 0.3, 80))

    def rise(self, height: float, gripper: float, rotation: Array | None = None) -> Actions:
        """Straight up by ``height`` metres."""
        turn = self.rest if rotation is None else rotation
        yield from self.go(self.scene.hand + up(height), turn, gripper, Tolerance(0.03, 0.3, 25))
