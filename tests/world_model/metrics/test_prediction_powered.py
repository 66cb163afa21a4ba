"""The corrected rate by hand, its coverage, and that it is narrower where imagination is good."""

import numpy as np
import pytest

from world_model.errors import InputError
from world_model.metrics.prediction_powered import corrected_rate, simulate


def test_by_hand():
    true, imagined = np.array([1, 1, 0, 0, 1, 0]), np.array([1, 1, 0, 0, 0, 0])
    more = np.repeat([1, 0], [30, 30])
    rate, weight = corrected_rate(true, imagined, more)
    # With half an observation in each pair: 8 in all, means 1/2 and 3/8.
    pairs_y = np.array([1, 1, 0, 0, 1, 0, 0, 0, 1, 1])
    pairs_f = np.array([1, 1, 0, 0, 0, 0, 0, 1, 0, 1])
    w = np.array([1, 1, 1, 1, 1, 1, 0.5, 0.5, 0.5, 0.5]) / 8
    joint = (w * pairs_y * pairs_f).sum() - 0.5 * 0.375
    spread = 0.375 * 0.625
    assert weight == pytest.approx(joint / (1.1 * spread))
    assert rate.value == pytest.approx(weight * 0.5 + 0.5 - weight / 3)
    rest = pairs_y - weight * pairs_f
    variance = weight**2 * spread / 60 + ((w * rest**2).sum() - (w * rest).sum() ** 2) / 6
    assert rate.high - rate.value == pytest.approx(1.96 * np.sqrt(variance), rel=1e-3)


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
