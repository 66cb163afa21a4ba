"""How well the block lies on the goal: coverage, IoU and the two successes in use."""

from __future__ import annotations

import math

import numpy as np
import shapely
from numpy.typing import NDArray

from teachers.pusht.physics import Pose

COVERAGE_SUCCESS = 0.95  # gym-pusht: share of the goal that the block covers
POSITION_SUCCESS = 20.0  # px; the goal-state rule of goal-conditioned benchmarks
ANGLE_SUCCESS = math.pi / 9

# The T about its origin, px: a bar of 120 x 30 and a stem of 30 x 90.
OUTLINE = np.array([(-60, 0), (60, 0), (60, 30), (15, 30), (15, 120), (-15, 120), (-15, 30), (-60, 30)], np.float64)
AREA = 120.0 * 30.0 + 30.0 * 90.0
CENTRE = np.array([0.0, 45.0])  # gym-pusht's centre of gravity: the mean of the two boxes' centres

LABELS = ("reward", "success", "coverage", "iou", "success_coverage", "success_pose")


def outline(pose: Pose) -> NDArray[np.float64]:
    """Corners ``(8, 2)`` of a T in px."""
    cos, sin = math.cos(pose.angle), math.sin(pose.angle)
    return OUTLINE @ np.array([(cos, sin), (-sin, cos)]) + (pose.x, pose.y)


def angle_between(a: float, b: float) -> float:
    """Smallest absolute difference of two angles, in [0, pi]."""
    return abs((a - b + math.pi) % (2 * math.pi) - math.pi)


def coverage(block: Pose, goal: Pose) -> float:
    """Share of the goal's area under the block, in [0, 1]."""
    return float(shapely.area(shapely.intersection(_polygon(block), _polygon(goal)))) / AREA


def score(block: Pose, goal: Pose) -> dict[str, float]:
    """All of `LABELS` for one block pose: the shares in [0, 1], the successes 0 or 1.

    ``reward`` and ``success`` are gym-pusht's; ``success_pose`` asks for 20 px and pi/9.
    """
    covered = coverage(block, goal)
    by_coverage = float(covered > COVERAGE_SUCCESS)
    near = math.hypot(block.x - goal.x, block.y - goal.y) < POSITION_SUCCESS
    by_pose = float(near and angle_between(block.angle, goal.angle) < ANGLE_SUCCESS)
    return {
        "reward": min(max(covered / COVERAGE_SUCCESS, 0.0), 1.0),
        "success": by_coverage,
        "coverage": covered,
        "iou": covered / (2.0 - covered),  # both shapes have the same area
        "success_coverage": by_coverage,
        "success_pose": by_pose,
    }


def _polygon(pose: Pose) -> shapely.Polygon:
    return shapely.Polygon(outline(pose))
