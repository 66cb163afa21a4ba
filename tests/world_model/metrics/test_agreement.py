"""Agreement of scores, against values by hand."""

import numpy as np
import pytest

from world_model.errors import InputError
from world_model.metrics.agreement import (
    absolute_bias,
    agreement,
    bias,
    cohen_kappa,
    kendall,
    mmrv,
    pearson,
    spearman,
)

TRUE = np.array([0.0, 0.2, 0.5, 1.0])


def test_correlations_by_hand():
    imagined = np.array([0.1, 0.0, 0.5, 0.9])  # one swapped pair of six
    assert spearman(imagined, TRUE) == pytest.approx(1 - 6 * 2 / (4 * 15))
    assert kendall(imagined, TRUE) == pytest.approx((5 - 1) / 6)
    x, y = imagined - 0.375, TRUE - 0.425
    assert pearson(imagined, TRUE) == pytest.approx((x * y).sum() / np.sqrt((x**2).sum() * (y**2).sum()))


def test_tied_scores_share_ranks_and_leave_tau():
    imagined = np.array([0.3, 0.3, 0.5, 0.9])
    assert kendall(imagined, TRUE) == pytest.approx(5 / np.sqrt(5 * 6))  # tau-b
    assert spearman(imagined, TRUE) == pytest.approx(np.corrcoef([1.5, 1.5, 3, 4], [1, 2, 3, 4])[0, 1])


def test_scores_that_do_not_vary_have_no_correlation():
    flat = np.full(4, 0.5)
    assert pearson(flat, TRUE) is None
    assert spearman(TRUE, flat) is None
    assert kendall(flat, flat) is None


def test_rank_violations_cost_the_largest_true_difference():
    # The first two swap (true difference 0.2): both pay it, the others nothing.
    assert mmrv([0.1, 0.0, 0.5, 0.9], TRUE) == pytest.approx((0.2 + 0.2) / 4)
    # The best comes last: it pays 1.0, and the others what they differ from it by.
    assert mmrv([0.2, 0.3, 0.5, 0.0], TRUE) == pytest.approx((1.0 + 0.8 + 0.5 + 1.0) / 4)
    assert mmrv(TRUE, TRUE) == 0


def test_the_tie_rule_of_rank_violations():
    assert mmrv([0.3, 0.3], [0.0, 0.4]) == pytest.approx(0.4 / 2)  # tied in imagination: the truly worse one pays
    assert mmrv([0.0, 0.4], [0.3, 0.3]) == 0  # tied in truth: nothing was ranked wrongly that matters


def test_biases_by_hand():
    imagined = np.array([0.1, 0.1, 0.6, 0.8])
    assert bias(imagined, TRUE) == pytest.approx((0.1 - 0.1 + 0.1 - 0.2) / 4)
    assert absolute_bias(imagined, TRUE) == pytest.approx(0.5 / 4)


def test_kappa_by_hand():
    # 20 yes-yes, 5 yes-no, 10 no-yes, 15 no-no: agreement 0.7, by chance 0.5.
    truth = np.repeat([1, 1, 0, 0], [20, 5, 10, 15])
    guess = np.repeat([1, 0, 1, 0], [20, 5, 10, 15])
    assert cohen_kappa(truth, guess) == pytest.approx(0.4)
    assert cohen_kappa(np.ones(5), np.ones(5)) is None


def test_intervals_hold_the_value_and_narrow_with_more_starts():
    generator = np.random.default_rng(0)
    rates = np.linspace(0.05, 0.95, 12)[:, None]

    def drawn(starts):
        true = generator.random((12, starts)) < rates
        imagined = np.where(generator.random((12, starts)) < 0.9, true, ~true)
        return agreement(imagined, true, np.random.default_rng(1), 200)

    few, many = drawn(10), drawn(400)
    for name in ("pearson", "spearman", "kendall", "mmrv", "bias"):
        assert few[name].low <= few[name].value <= few[name].high or name == "mmrv"
        assert many[name].high - many[name].low < few[name].high - few[name].low
        assert few[name].n == 12
    assert many["pearson"].value > 0.98


def test_scores_from_other_starts_are_refused():
    with pytest.raises(InputError, match="from the same starts"):
        agreement(np.zeros((3, 4)), np.zeros((3, 5)), np.random.default_rng(0))
