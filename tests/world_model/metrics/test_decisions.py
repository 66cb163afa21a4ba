"""Tests of pairs, sequential evidence and sample sizes, against values by hand."""

import numpy as np
import pytest

from world_model.errors import InputError
from world_model.metrics.decisions import (
    episodes_for_difference,
    episodes_for_rate,
    evidence_of_wins,
    mcnemar,
    sequential,
)


def test_mcnemar_counts_decided_starts_only():
    a = np.array([1, 1, 1, 1, 1, 1, 0, 0, 1, 0])
    b = np.array([0, 0, 0, 0, 0, 0, 0, 0, 1, 0])
    assert mcnemar(a, b) == pytest.approx(2 * 0.5**6)  # six to none
    assert mcnemar(a, a) == 1
    assert mcnemar([1, 0], [0, 1]) == 1


def test_evidence_by_hand():
    assert evidence_of_wins(0, 0) == pytest.approx(1)
    # One win: 2^2 times the integral of x from 1/2 to 1.
    assert evidence_of_wins(1, 0) == pytest.approx(4 * 3 / 8)
    assert evidence_of_wins(0, 1) == pytest.approx(4 * 1 / 8)
    assert evidence_of_wins(2, 0) == pytest.approx(8 * (1 - 1 / 8) / 3)
    assert evidence_of_wins(0, 5000) == 0
    assert np.isfinite(evidence_of_wins(5000, 0))


def test_the_bet_is_fair_at_even_odds():
    for wins, losses in ((0, 0), (3, 1), (2, 6)):
        after = evidence_of_wins(wins + 1, losses) + evidence_of_wins(wins, losses + 1)
        assert after / 2 == pytest.approx(evidence_of_wins(wins, losses))


def test_it_stops_at_the_episode_that_proves_it():
    a, b = np.zeros(20, int), np.ones(20, int)
    stopped = sequential(a, b)
    wins = next(n for n in range(1, 20) if evidence_of_wins(n, 0) >= 20)
    assert stopped.at == wins
    ties = np.zeros(4, int)
    assert sequential(np.concatenate([ties, a]), np.concatenate([ties, b])).at == wins + 4
    assert sequential(b, a).at is None


def test_looking_all_the_time_is_rarely_wrong():
    generator = np.random.default_rng(3)
    wrong = 0
    for _ in range(400):
        a, b = (generator.random(60) < 0.5).astype(int), (generator.random(60) < 0.5).astype(int)
        wrong += sequential(a, b).at is not None
    assert wrong / 400 <= 0.05


def test_sample_sizes_by_hand():
    assert episodes_for_rate(0.1) == 97  # 1.96^2 / 4 / 0.01
    assert episodes_for_rate(0.05, 0.9) == 139
    assert episodes_for_difference(0.6, 0.8) == 82
    # Paired, differing at 0.3 of the starts: (1.96 sqrt(0.3) + 0.8416 sqrt(0.3 - 0.04))^2 / 0.04
    assert episodes_for_difference(0.6, 0.8, agreement=0.7) == 57
    assert episodes_for_difference(0.6, 0.8, agreement=0.8) < episodes_for_difference(0.6, 0.8)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: episodes_for_rate(0.0), "half_width is 0 but must lie between 0 and 1"),
        (lambda: episodes_for_difference(0.5, 0.5), r"both rates are 0\.5"),
        (lambda: episodes_for_difference(0.5, 0.7, agreement=0.9), r"agreement is 0\.9, but rates of"),
        (lambda: mcnemar([1, 2], [0, 1]), "two rows of 0 and 1"),
        (lambda: sequential([1], [0, 1]), "two rows of 0 and 1"),
    ],
)
def test_mistakes(call, said):
    with pytest.raises(InputError, match=said):
        call()
