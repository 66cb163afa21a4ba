"""Reliability, Brier, AUROC and pose errors against numbers worked out by hand."""

import numpy as np
import pytest

from world_model.errors import InputError
from world_model.metrics.calibration import auroc, brier, expected_calibration_error, reliability
from world_model.metrics.poses import angle_error, position_error


def test_reliability_of_known_probabilities():
    probability = [0.05, 0.15, 0.15, 0.95, 1.0]
    curve = reliability(probability, [0, 0, 1, 1, 0], bins=10)
    np.testing.assert_allclose(curve.predicted, [0.05, 0.15, 0.975])
    np.testing.assert_allclose(curve.observed, [0.0, 0.5, 0.5])
    assert curve.counts.tolist() == [1, 2, 2]
    wanted = (1 * 0.05 + 2 * 0.35 + 2 * 0.475) / 5
    assert expected_calibration_error(probability, [0, 0, 1, 1, 0]) == pytest.approx(wanted)


def test_brier_of_known_probabilities():
    assert brier([0.0, 1.0, 0.5, 0.25], [0, 1, 1, 0]) == pytest.approx((0 + 0 + 0.25 + 0.0625) / 4)


def test_auroc_counts_pairs_and_half_of_the_ties():
    # Pairs (event, non-event): 0.8 beats 0.3 and 0.5; 0.5 beats 0.3 and ties with 0.5.
    assert auroc([0.8, 0.5, 0.3, 0.5], [1, 1, 0, 0]) == pytest.approx((2 + 1 + 0.5) / 4)
    with pytest.raises(InputError, match="both outcomes"):
        auroc([0.1, 0.2], [0, 0])


def test_scores_are_not_taken_for_probabilities():
    with pytest.raises(InputError, match="score"):
        brier([1.5], [1])


def test_pose_errors():
    np.testing.assert_allclose(position_error([[0, 0], [3, 4]], [[0, 0], [0, 0]]), [0, 5])
    np.testing.assert_allclose(
        angle_error([np.pi - 0.1, 7.0], [-np.pi + 0.1, 7.0 - 4 * np.pi]), [np.degrees(0.2), 0], atol=1e-9
    )
