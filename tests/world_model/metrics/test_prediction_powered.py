"""The corrected rate by hand, its coverage, and that it is narrower where imagination is good."""

import numpy as np
import pytest

from world_model.errors import InputError
from world_model.metrics.prediction_powered import corrected_rate, simulate


def test_by_hand():
    true, imagined = np.tile([1, 1, 0, 0, 1, 0], 4), np.tile([1, 1, 0, 0, 0, 0], 4)
    rate, weight = corrected_rate(true, imagined, np.repeat([1, 0], [30, 30]))
    # With half an observation in each pair, 26 in all: y and f as they are, then (0, 0), (0, 1), (1, 0), (1, 1).
    mean_y, mean_f, both = (12 + 1) / 26, (8 + 1) / 26, (8 + 0.5) / 26
    spread = mean_f * (1 - mean_f)
    assert weight == pytest.approx((both - mean_y * mean_f) / ((1 + 24 / 60) * spread))
    assert rate.value == pytest.approx(weight * 0.5 + 0.5 - weight / 3)
    only_y, only_f = (4 + 0.5) / 26, 0.5 / 26
    mean_rest = mean_y - weight * mean_f
    square_rest = both * (1 - weight) ** 2 + only_y + only_f * weight**2
    variance = weight**2 * spread / 60 + (square_rest - mean_rest**2) / 24
    assert rate.high - rate.value == pytest.approx(2.06866 * np.sqrt(variance), rel=1e-4)  # t of 23 degrees


def test_useless_imagination_is_not_trusted():
    generator = np.random.default_rng(0)
    true, imagined = generator.random(300) < 0.4, generator.random(300) < 0.9
    rate, weight = corrected_rate(true, imagined, generator.random(3000) < 0.9)
    assert weight < 0.2
    assert rate.value == pytest.approx(true.mean(), abs=0.03)


def test_biased_imagination_is_corrected_and_the_interval_holds():
    generator = np.random.default_rng(1)
    true = generator.random(4000) < 0.5
    imagined = np.where(generator.random(4000) < 0.85, true, True)  # too rosy
    trial = simulate(true, imagined, n=40, extra=400, generator=generator, repeats=400)
    assert trial.coverage >= 0.93
    assert trial.width < 0.85 * trial.width_true_only


def test_few_true_episodes_that_all_agree_leave_some_doubt():
    rate, _ = corrected_rate(np.ones(5), np.ones(5), np.ones(1000))
    assert rate.high == 1
    assert rate.low < 0.9


def test_mistakes():
    with pytest.raises(InputError, match="at least 2 of each"):
        corrected_rate([1], [1], [1, 0])
