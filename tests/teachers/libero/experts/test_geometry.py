"""Geometry held against values worked out by hand."""

import numpy as np
import pytest

from teachers.libero.experts.geometry import (
    blocked,
    box_points,
    clearance,
    cylinder_points,
    frame,
    rotation_about,
    rotation_about_z,
    rotation_vector,
    sidestep,
)


@pytest.mark.parametrize("angle", [0.0, 1e-9, 0.3, 1.5, 3.0, np.pi])
def test_rotation_vector_undoes_a_rotation(angle: float) -> None:
    axis = np.array([2.0, -1.0, 2.0]) / 3.0
    found = rotation_vector(rotation_about(axis, angle))
    assert np.allclose(found, axis * angle, atol=1e-7) or np.allclose(found, -axis * angle, atol=1e-7)
    assert angle > 3.1 or np.allclose(found, axis * angle, atol=1e-7)


def test_a_quarter_turn_about_the_vertical_takes_x_to_y() -> None:
    assert np.allclose(rotation_about_z(np.pi / 2) @ [1.0, 0.0, 5.0], [0.0, 1.0, 5.0])
    assert np.allclose(rotation_about([0, 0, 1], 0.7), rotation_about_z(0.7))


def test_a_frame_is_a_rotation_with_the_asked_for_axes() -> None:
    rotation = frame((0.0, 0.0, -2.0), (1.0, 0.0, 0.4))
    assert np.allclose(rotation.T @ rotation, np.eye(3))
    assert np.isclose(np.linalg.det(rotation), 1.0)
    assert np.allclose(rotation[:, 2], [0, 0, -1])
    assert np.allclose(rotation[:, 0], [1, 0, 0])


def test_box_points_hold_the_corners_and_are_dense() -> None:
    points = box_points([0.1, 0.05, 0.01])
    assert np.allclose(points.max(0), [0.1, 0.05, 0.01])
    assert np.allclose(points.min(0), [-0.1, -0.05, -0.01])
    assert np.diff(np.unique(points[:, 0])).max() <= 0.015 + 1e-9


def test_cylinder_points_lie_on_it() -> None:
    points = cylinder_points(0.04, 0.1)
    assert np.allclose(np.linalg.norm(points[:-2, :2], axis=1), 0.04)
    assert np.isclose(np.ptp(points[:, 2]), 0.2)


def test_fingers_and_palm_meet_what_is_in_their_way() -> None:
    site, u = np.array([0.0, 0.0, 1.0]), np.array([1.0, 0.0])
    between, at_finger, under_finger, at_palm, beside = (
        [0, 0, 1],
        [0.047, 0, 1],
        [0.047, 0, 0.9],
        [0, 0.03, 1.06],
        [0, 0.1, 1.1],
    )
    assert blocked(site, u, [between]) == 0
    assert blocked(site, u, [at_finger, [-0.05, 0.01, 1.03]]) == 2
    assert blocked(site, u, [under_finger, beside]) == 0
    assert blocked(site, u, [at_palm]) == 1
    assert blocked(site, np.array([0.0, 1.0]), [at_finger]) == 0  # the fingers open along y now


def test_clearance_is_the_highest_point_near_the_way() -> None:
    obstacles = [[0.5, 0.05, 0.3], [0.5, 0.5, 0.9], [1.3, 0.0, 0.8], [0.0, 0.0, 0.1]]
    assert clearance([0, 0, 0], [1, 0, 0], obstacles) == 0.3
    assert clearance([0, 0, 0], [1, 0, 0], np.zeros((0, 3))) == -np.inf


def test_a_body_steps_aside_from_what_overhangs_it() -> None:
    body = box_points([0.05, 0.05, 0.02])
    overhang = np.array([[-0.04, 0.0, 0.3]])
    move = sidestep(body, overhang)
    assert 0.02 < np.linalg.norm(move) < 0.1
    assert move[0] > 0
    assert not sidestep(body, [[-0.04, 0.0, 0.0]]).any()  # beside it is not above it
    assert not sidestep(body, [[0.3, 0.0, 0.3]]).any()
