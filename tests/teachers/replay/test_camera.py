"""Cameras are found from what they see; too little to see is refused. No simulator is needed."""

import dataclasses

import numpy as np
import pytest

from teachers.replay.camera import Camera, fit_camera, measure
from world_model.errors import DataError, InputError

CAMERA = Camera((1.94, -0.55, 0.35), (0.13, -0.41, 0.38), 125.0)


@pytest.fixture(scope="module")
def points():
    generator = np.random.default_rng(0)
    return generator.uniform((0.3, -0.25, 0.05), (0.7, 0.3, 0.6), (12, 3))


def test_projection_by_hand():
    straight = Camera((0.0, 0.0, 0.0), (0.0, 0.0, 0.0), 100.0)  # looks along z; x to the right, y down
    seen = straight.project(np.array([[0.0, 0.0, 2.0], [1.0, 0.0, 2.0], [0.0, 0.5, 1.0]]))
    assert seen.tolist() == [[160, 96, 2], [210, 96, 2], [160, pytest.approx(96 + 50 * 192 / 180), 1]]
    assert Camera.of(CAMERA.parameters) == CAMERA


def test_a_camera_is_found_from_exact_points(points):
    fit = fit_camera(points, CAMERA.project(points)[:, :2], np.random.default_rng(1))
    assert fit.error_px < 0.01
    assert fit.camera.focal == pytest.approx(125, abs=0.1)
    assert fit.camera.place == pytest.approx(CAMERA.place, abs=1e-3)
    assert np.allclose(fit.camera.axes, CAMERA.axes, atol=1e-3)


def test_a_known_focal_length_stays(points):
    few = points[:4]
    fit = fit_camera(few, CAMERA.project(few)[:, :2], np.random.default_rng(1), focal=125.0)
    assert (fit.camera.focal, fit.error_px < 0.01) == (125.0, True)
    assert measure(fit.camera, points, CAMERA.project(points)[:, :2]).error_px < 0.5


def test_noise_and_an_outlier_cost_little(points):
    generator = np.random.default_rng(2)
    pixels = CAMERA.project(points)[:, :2] + generator.normal(0, 1.0, (12, 2))
    pixels[3] += (25, -15)
    fit = fit_camera(points, pixels, np.random.default_rng(1))
    assert fit.worst_px > 20
    others = np.delete(points, 3, axis=0)
    assert measure(fit.camera, others, CAMERA.project(others)[:, :2]).error_px < 2.5


def test_the_generator_decides(points):
    pixels = CAMERA.project(points)[:, :2] + np.random.default_rng(2).normal(0, 1.0, (12, 2))
    one, same = (fit_camera(points, pixels, np.random.default_rng(3)) for _ in range(2))
    assert one == same


def test_what_cannot_be_fitted_is_refused(points):
    with pytest.raises(DataError, match="3 key points"):
        fit_camera(points[:3], np.zeros((3, 2)), np.random.default_rng(0))
    with pytest.raises(DataError, match="do not tell"):
        fit_camera(points, np.zeros((5, 2)), np.random.default_rng(0))
    wrong = np.random.default_rng(0).uniform(0, 320, (12, 2))
    with pytest.raises(DataError, match="look at them again"):
        fit_camera(points, wrong, np.random.default_rng(0))
    with pytest.raises(InputError, match="there are 0"):
        measure(dataclasses.replace(CAMERA), points[:0], np.zeros((0, 2)))
