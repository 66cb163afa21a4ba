"""Frechet distances with known answers."""

import numpy as np
import pytest

from world_model.errors import InputError
from world_model.metrics.frechet import frechet_distance, halves_distance


def test_one_dimension_by_hand():
    """Normal distributions on a line: squared difference of the means plus that of the deviations."""
    a, b = np.array([[0.0], [2.0]]), np.array([[3.0], [7.0], [5.0]])
    unbiased = (5 - 1) ** 2 + (np.sqrt(2) - 2) ** 2
    assert frechet_distance(a, b) == pytest.approx(unbiased)
    assert frechet_distance(a, b, unbiased=False) == pytest.approx(16 + (1 - np.sqrt(8 / 3)) ** 2)


def test_a_set_is_no_distance_from_itself_and_a_shift_counts_squared():
    features = np.random.default_rng(0).normal(size=(50, 8))
    assert frechet_distance(features, features) == pytest.approx(0, abs=1e-9)
    assert frechet_distance(features, features + 0.5) == pytest.approx(8 * 0.25)


@pytest.mark.parametrize("count", [6, 200])
def test_it_is_the_trace_formula(count):
    """Against the eigenvalues of the covariances' product, for fewer samples than dimensions and for more."""
    generator = np.random.default_rng(1)
    a = generator.normal(size=(count, 20)) @ generator.normal(size=(20, 20))
    b = generator.normal(size=(count + 3, 20)) + 1
    covariances = np.cov(a, rowvar=False), np.cov(b, rowvar=False)
    roots = np.sqrt(np.maximum(np.linalg.eigvals(covariances[0] @ covariances[1]).real, 0))
    wanted = np.square(a.mean(0) - b.mean(0)).sum() + sum(np.trace(c) for c in covariances) - 2 * roots.sum()
    assert frechet_distance(a, b) == pytest.approx(wanted, rel=1e-5)


def test_it_equals_torchmetrics():
    fid = pytest.importorskip("torchmetrics.image.fid")
    torch = pytest.importorskip("torch")
    generator = np.random.default_rng(2)
    a, b = generator.normal(size=(300, 12)), generator.normal(size=(300, 12)) * 2 + 0.3
    moments = [torch.from_numpy(m) for v in (a, b) for m in (v.mean(0), np.cov(v, rowvar=False))]
    wanted = fid._compute_fid(*(moments[i] for i in (0, 1, 2, 3)))
    assert frechet_distance(a, b) == pytest.approx(float(wanted), rel=1e-6)


def test_floor_is_between_groups():
    features = np.array([[0.0], [0.0], [4.0], [4.0]])
    assert halves_distance(features, np.array([0, 0, 1, 1])) == pytest.approx(16)
    assert halves_distance(features[:3], np.array([0, 0, 1])) is None


def test_bad_features_are_refused():
    good = np.zeros((3, 2))
    for bad in (np.zeros((3, 3)), np.zeros((1, 2)), np.full((3, 2), np.nan)):
        with pytest.raises(InputError, match="features"):
            frechet_distance(good, bad)
