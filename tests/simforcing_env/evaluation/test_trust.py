"""The uncertainty's report on cases with a known answer."""

from __future__ import annotations

import numpy as np

from simforcing_env.evaluation.trust import trust_metrics


def test_perfect_reversed_and_constant_uncertainty() -> None:
    error = np.array([1.0, 2.0, 11.0, 13.0, 40.0])
    groups = np.arange(5)
    generator = np.random.default_rng(0)
    good = trust_metrics(np.log(error), error, groups, generator)
    assert (round(good["spearman"].value, 9), good["auroc"].value) == (1.0, 1.0)
    bad = trust_metrics(-error, error, groups, generator)
    assert (round(bad["spearman"].value, 9), bad["auroc"].value) == (-1.0, 0.0)
    assert trust_metrics(np.ones(5), error, groups, generator).keys() == {"auroc"}


def test_without_wrong_clips_there_is_no_auroc() -> None:
    error = np.array([1.0, 2.0, 3.0])
    assert trust_metrics(error, error, np.arange(3), np.random.default_rng(0)).keys() == {"spearman"}
