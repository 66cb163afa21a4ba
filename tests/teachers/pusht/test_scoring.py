"""Coverage, IoU and both successes against values by hand, by shapely and by gym-pusht."""

import math

import numpy as np
import pytest

pytest.importorskip("gym_pusht")

import shapely
from gym_pusht.envs.pusht import PushTEnv

from teachers.pusht.physics import STOCK_GOAL, Pose
from teachers.pusht.scoring import AREA, LABELS, OUTLINE, outline, score

FLAT = Pose(200.0, 200.0, 0.0)


def test_a_block_on_its_goal_scores_one_everywhere():
    assert score(STOCK_GOAL, STOCK_GOAL) == pytest.approx(dict.fromkeys(LABELS, 1.0))


def test_a_shift_along_the_bar_by_hand():
    # 30 px to the right: the bar keeps 90 of 120 px, the stem, 30 px wide, leaves its place altogether.
    got = score(FLAT._replace(x=230.0), FLAT)
    covered = 90 * 30 / AREA
    assert got["coverage"] == pytest.approx(covered)
    assert got["iou"] == pytest.approx(covered / (2 - covered))
    assert got["reward"] == pytest.approx(covered / 0.95)
    assert got["success"] == got["success_coverage"] == got["success_pose"] == 0


def test_a_block_elsewhere_scores_nothing():
    assert set(score(FLAT._replace(x=500.0), FLAT).values()) == {0.0}


@pytest.mark.parametrize(
    ("dx", "angle", "success"),
    [(19.9, 0.0, 1), (20.1, 0.0, 0), (0.0, math.pi / 9 - 0.01, 1), (0.0, math.pi / 9 + 0.01, 0), (0.0, 2 * math.pi, 1)],
)
def test_pose_success_is_20_px_and_20_degrees_and_forgets_full_turns(dx, angle, success):
    assert score(Pose(200.0 + dx, 200.0, angle), FLAT)["success_pose"] == success
    assert score(Pose(200.0 + dx, 200.0, -angle), FLAT)["success_pose"] == success


def test_the_two_successes_are_different_rules():
    near = score(FLAT._replace(x=215.0), FLAT)
    assert (near["success_pose"], near["success_coverage"]) == (1, 0)


def test_random_poses_agree_with_gym_pusht_and_with_iou_from_its_definition():
    stock = PushTEnv(obs_type="state")
    stock.reset(seed=0)
    generator = np.random.default_rng(0)
    for _ in range(50):
        goal = Pose(*generator.uniform(200, 300, 2), generator.uniform(-4, 4))
        block = Pose(*(np.array(goal) + generator.normal(0, (20, 20, 0.5))))
        stock.goal_pose = np.array(goal)
        stock.block.angle = block.angle
        stock.block.position = block[:2]
        got = score(block, goal)
        assert got["coverage"] == pytest.approx(stock._get_coverage(), abs=1e-12)
        a, b = shapely.Polygon(outline(block)), shapely.Polygon(outline(goal))
        assert got["iou"] == pytest.approx(a.intersection(b).area / a.union(b).area, abs=1e-12)


def test_area_is_the_outlines():
    assert shapely.Polygon(OUTLINE).area == AREA
