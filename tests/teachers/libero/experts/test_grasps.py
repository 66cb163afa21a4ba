"""Grasps of shapes whose best grasp is plain."""

import numpy as np

from teachers.libero.experts.geometry import box_points, cylinder_points
from teachers.libero.experts.grasps import plan_grasps

FINGERS = np.array([1.0, 0.0, 0.0])  # they open along x at yaw 0
HERE = np.array([0.0, 0.0, 0.5])
FOOT = np.array([-0.5, 0.0, 0.0])
NOTHING = np.zeros((0, 3))


def bowl(radius: float = 0.07, height: float = 0.05) -> np.ndarray:
    """A pot without a lid."""
    wall = cylinder_points(radius, height / 2)[:-2]
    return np.concatenate([wall, [[0.0, 0.0, -height / 2]]])


def test_a_box_is_taken_across_its_narrow_side() -> None:
    best = plan_grasps(box_points([0.02, 0.06, 0.03]), NOTHING, FINGERS, HERE, FOOT)[0]
    assert best.kind == "whole"
    assert best.yaw == 0.0
    assert np.allclose(best.site[:2], 0.0)
    assert best.site[2] < 0.03
    turned = plan_grasps(box_points([0.06, 0.02, 0.03]), NOTHING, FINGERS, HERE, FOOT)[0]
    assert np.isclose(abs(turned.yaw), np.pi / 2)


def test_a_bowl_is_taken_by_its_rim() -> None:
    best = plan_grasps(bowl(), NOTHING, FINGERS, HERE, FOOT)[0]
    assert best.kind == "rim"
    assert 0.05 < np.linalg.norm(best.site[:2]) < 0.075


def test_a_pan_is_taken_by_its_handle() -> None:
    pan = np.concatenate([bowl(0.11, 0.04), box_points([0.07, 0.01, 0.008]) + np.array([0.18, 0.0, 0.0])])
    kinds = {grasp.kind for grasp in plan_grasps(pan, NOTHING, FINGERS, HERE, FOOT)}
    parts = [grasp for grasp in plan_grasps(pan, NOTHING, FINGERS, HERE, FOOT) if grasp.kind == "part"]
    assert kinds >= {"part"}
    assert any(grasp.site[0] > 0.11 and np.isclose(abs(grasp.yaw), np.pi / 2) for grasp in parts)


def test_a_neighbour_turns_the_gripper() -> None:
    cube = box_points([0.02, 0.02, 0.03])
    wall = box_points([0.005, 0.02, 0.03]) + np.array([0.047, 0.0, 0.0])
    assert plan_grasps(cube, NOTHING, FINGERS, HERE, FOOT)[0].yaw == 0.0
    assert abs(plan_grasps(cube, wall, FINGERS, HERE, FOOT)[0].yaw) > 0.5


def test_a_far_bowl_is_taken_by_its_near_side() -> None:
    far = np.array([0.3, 0.0, 0.0])
    near_hand = HERE + 2 * far
    best = plan_grasps(bowl() + far, NOTHING, FINGERS, near_hand, FOOT)[0]
    assert best.site[0] < 0.26
    assert plan_grasps(bowl(), NOTHING, FINGERS, near_hand, FOOT)[0].site[0] > 0.04  # within reach nearness counts


def test_grasps_are_sorted_and_other_ones_are_told_apart() -> None:
    found = plan_grasps(bowl(), NOTHING, FINGERS, HERE, FOOT)
    assert [grasp.cost for grasp in found] == sorted(grasp.cost for grasp in found)
    assert not found[0].far_from(found[0])
    assert any(grasp.far_from(found[0]) for grasp in found)


def test_what_is_too_large_has_no_grasp() -> None:
    square = box_points([0.2, 0.2, 0.005])
    disc = square[np.linalg.norm(square[:, :2], axis=1) < 0.2]
    assert plan_grasps(disc, NOTHING, FINGERS, HERE, FOOT) == []
