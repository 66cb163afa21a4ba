"""Geometry of pushing the block: where to touch it, how to get there, what a push would do."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from teachers.pusht.contract import ARENA
from teachers.pusht.physics import Pose, PushTState, PushTWorld
from teachers.pusht.scoring import OUTLINE, angle_between, outline
from teachers.pusht.starts import LEVER, centre_of

RADIUS = 15.0  # px: the pusher
WALL = 22.0  # px: nearest that a planned pusher comes to the arena's edge
RING = 105.0  # px: circle about the block's centre of gravity on which the pusher moves freely

Point = NDArray[np.float64]  # (2,) px


@dataclass(frozen=True)
class Push:
    """A straight push of ``length`` px from ``approach`` along the unit vector ``direction``, ``speed`` px a step."""

    approach: Point
    direction: Point
    length: float
    speed: float

    def targets(self) -> list[Point]:
        """Targets of each control step, the last one at the end."""
        count = max(1, math.ceil(self.length / self.speed))
        return [self.approach + self.direction * self.length * (i + 1) / count for i in range(count)]


def clip(point: Point, margin: float = 0.0) -> Point:
    """``point`` moved inside the arena."""
    return np.clip(point, margin, ARENA - margin)


def unit(angle: float) -> Point:
    return np.array([math.cos(angle), math.sin(angle)])


def random_push(block: Pose, generator: np.random.Generator, gap: float, length: float, speed: float) -> Push:
    """A push through a random point of the block's edge, roughly square to it, from ``gap`` px outside."""
    corners = outline(block)
    sides = np.roll(OUTLINE, -1, axis=0) - OUTLINE
    lengths = np.hypot(*sides.T)
    side = generator.choice(len(sides), p=lengths / lengths.sum())
    here, there = corners[side], corners[(side + 1) % len(corners)]
    point = here + generator.uniform(0.05, 0.95) * (there - here)
    along = (there - here) / lengths[side]
    inward = np.array([-along[1], along[0]])  # the outline runs with the inside on this hand
    lean = float(np.clip(generator.normal(0.0, 0.3), -0.8, 0.8))
    direction = inward * math.cos(lean) + along * math.sin(lean)
    return Push(point - direction * (RADIUS + gap), direction, gap + length, speed)


def detour(agent: Point, goal: Point, block: Pose) -> list[Point]:
    """Way points from ``agent`` to ``goal`` around the block."""
    centre = centre_of(block)
    if _clear(agent, goal, centre):
        return [goal]
    here, there = (math.atan2(*(p - centre)[::-1]) for p in (agent, goal))
    turn = (there - here + math.pi) % (2 * math.pi) - math.pi
    count = max(1, math.ceil(abs(turn) / 0.7))
    ring = [centre + RING * unit(here + turn * i / count) for i in range(count + 1)]
    return [*(clip(p, WALL) for p in ring), goal]


def outcome(world: PushTWorld, block: Pose, push: Push, rest: int = 0) -> Pose:
    """Where the block comes to lie after ``push``, tried out in ``world``; ``rest`` steps later."""
    world.reset_state(PushTState(float(push.approach[0]), float(push.approach[1]), *block))
    targets = push.targets()
    for target in targets + targets[-1:] * rest:
        world.step(*map(float, clip(target)))
    return world.block_pose


def misfit(block: Pose, goal: Pose) -> float:
    """Distance of two poses in px, a radian counted as a lever arm."""
    return math.hypot(block.x - goal.x, block.y - goal.y) + LEVER * angle_between(block.angle, goal.angle)


def _clear(a: Point, b: Point, centre: Point) -> bool:
    """Whether the straight way stays out of the circle that holds the block."""
    way = b - a
    t = float(np.clip(((centre - a) @ way) / max(float(way @ way), 1e-9), 0.0, 1.0))
    return float(np.hypot(*(a + t * way - centre))) > RING - RADIUS
