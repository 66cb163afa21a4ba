"""IRASim's action rule, by hand and against the plain formula."""

import numpy as np
import pytest

from world_model.data.readers.poses import relative_poses


def rotation(rpy):
    """R = Rz Ry Rx, written out."""
    (cx, cy, cz), (sx, sy, sz) = np.cos(rpy), np.sin(rpy)
    about_x = np.array([[1, 0, 0], [0, cx, -sx], [0, sx, cx]])
    about_y = np.array([[cy, 0, sy], [0, 1, 0], [-sy, 0, cy]])
    about_z = np.array([[cz, -sz, 0], [sz, cz, 0], [0, 0, 1]])
    return about_z @ about_y @ about_x


def test_a_move_is_seen_from_the_hand():
    # The hand looks along +y (yaw 90 degrees) and moves along +y: forward, which is its own x.
    poses = np.array([[0, 0, 0, 0, 0, np.pi / 2, 0], [0, 0.1, 0, 0, 0, np.pi / 2, 1]], np.float32)
    assert relative_poses(poses) == pytest.approx(np.array([[0.1, 0, 0, 0, 0, 0, 1]]), abs=1e-7)


def test_a_turn_is_the_difference_and_the_gripper_is_the_later_one():
    poses = np.array([[0, 0, 0, 0, 0, 0.2, 0.3], [0, 0, 0, 0, 0, 0.5, 0.7]], np.float32)
    assert relative_poses(poses) == pytest.approx(np.array([[0, 0, 0, 0, 0, 0.3, 0.7]]), abs=1e-6)


@pytest.mark.parametrize("accumulate", [False, True])
def test_random_poses_follow_the_formula(accumulate):
    rng = np.random.default_rng(0)
    poses = np.concatenate([rng.normal(size=(9, 3)), rng.uniform(-1.2, 1.2, (9, 3)), rng.random((9, 1))], axis=1)
    actions = relative_poses(poses.astype(np.float32), accumulate)
    assert actions.shape == (8, 7)
    for k in range(1, 9):
        before = poses[0 if accumulate else k - 1]
        turn = rotation(before[3:6]).T
        assert actions[k - 1, :3] == pytest.approx(turn @ (poses[k, :3] - before[:3]), abs=1e-5)
        assert rotation(actions[k - 1, 3:6]) == pytest.approx(turn @ rotation(poses[k, 3:6]), abs=1e-5)
        assert actions[k - 1, 6] == pytest.approx(poses[k, 6], abs=1e-6)
