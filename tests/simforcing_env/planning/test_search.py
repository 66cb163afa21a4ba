"""Planners find what is known to be best, keep what is good, and say what they cannot do."""

from dataclasses import replace

import numpy as np
import pytest

from simforcing_env.planning.search import PLANNERS, Search, SearchConfig, _elites, find_planner
from simforcing_env.planning.streams import Streams
from tests.simforcing_env.planning.line import GOAL, line_scorer
from tests.world_model.tiny import tiny_contract
from world_model.errors import InputError

HAND = np.array([[50.0, 50.0], [20.0, 20.0]], np.float32)


def search(config=None, refine=None, **world):
    return Search(line_scorer(**world), Streams([1, 2]), tiny_contract(), config or SearchConfig(count=20), refine)


def proposals(count=20, seed=0):
    rng = np.random.default_rng(seed)
    return np.clip(HAND[:, None, None] + rng.uniform(-25, 25, (2, count, 4, 2)), 0, 100).astype(np.float32)


def ends(plan):
    return np.linalg.norm(plan.actions[:, 3] - GOAL, axis=-1)


def test_rank_takes_the_best_proposal():
    given = proposals()
    plan = find_planner("rank")(search(), given, HAND)
    every = np.linalg.norm(given[:, :, 3] - GOAL, axis=-1)
    np.testing.assert_allclose(ends(plan), every.min(1))
    np.testing.assert_array_equal(plan.chosen, every.argmin(1))
    np.testing.assert_allclose(plan.scores.total.max(1), -every.min(1), rtol=1e-5)


@pytest.mark.parametrize("name", ["cem", "icem", "mppi"])
def test_rounds_do_better_than_ranking(name):
    config = SearchConfig(count=40, rounds=6, spread=0.3)
    plan = find_planner(name)(search(config), proposals(), HAND)
    ranked = find_planner("rank")(search(config), proposals(), HAND)
    assert (ends(plan) < 0.5 * ends(ranked)).all()
    assert plan.actions.min() >= 0
    assert plan.actions.max() <= 100


def test_holding_still_is_a_candidate():
    there = np.broadcast_to(GOAL, (2, 2)).copy()
    far = np.full((2, 5, 4, 2), 10, np.float32)
    plan = find_planner("rank")(search(), far, there)
    assert plan.chosen.tolist() == [5, 5]
    np.testing.assert_array_equal(plan.actions, np.broadcast_to(GOAL, (2, 4, 2)))
    without = find_planner("rank")(search(SearchConfig(stay=False)), far, there)
    assert without.candidates.shape[1] == 5


def test_holding_still_is_no_move_where_actions_are_moves():
    first, second = tiny_contract().actions
    moves = replace(tiny_contract(), actions=(replace(first, kind="relative"), second))
    given = proposals()
    asked = replace(search(), contract=moves)
    still = find_planner("rank")(asked, given, HAND).candidates[:, -1]
    assert (still[..., 0] == 0).all()
    np.testing.assert_array_equal(still[..., 1], np.repeat(given[:, 0, :1, 1], 4, axis=1))  # the policy's own beginning


def test_doubt_is_taken_off():
    """The best end lies where the world is in doubt; a nearer-by one is taken when doubt counts."""
    given = np.stack([np.broadcast_to(GOAL, (4, 2)), np.full((4, 2), 50.0)])[None].repeat(2, 0).astype(np.float32)
    config = SearchConfig(stay=False)
    assert find_planner("rank")(search(config, doubt=1.0), given, HAND).chosen.tolist() == [0, 0]
    assert find_planner("rank")(search(config, doubt=1.0, penalty=1.0), given, HAND).chosen.tolist() == [1, 1]


def test_gradient_takes_what_got_better():
    def towards(chunks):
        return chunks + 0.5 * (GOAL - chunks)

    plan = find_planner("gradient")(search(refine=towards), proposals(), HAND)
    ranked = find_planner("rank")(search(), proposals(), HAND)
    np.testing.assert_allclose(ends(plan), 0.5 * ends(ranked), rtol=1e-4)

    worse = find_planner("gradient")(search(refine=lambda chunks: chunks * 0), proposals(), HAND)
    np.testing.assert_allclose(ends(worse), ends(ranked), rtol=1e-5)
    with pytest.raises(InputError, match="world without pictures"):
        find_planner("gradient")(search(), proposals(), HAND)


def test_elites_may_be_asked_to_differ():
    candidates = np.array([0.0, 0.1, 5.0, 9.0])[None, :, None, None] * np.ones((1, 4, 2, 1))
    totals = np.array([[4.0, 3.0, 2.0, 1.0]])
    assert _elites(candidates, totals, 2, 0.0)[0, :, 0, 0].tolist() == [0.0, 0.1]
    assert _elites(candidates, totals, 2, 1.0)[0, :, 0, 0].tolist() == [0.0, 5.0]
    assert _elites(candidates, totals, 3, 100.0)[0, :, 0, 0].tolist() == [0.0, 0.1, 5.0]  # filled up by the best


@pytest.mark.parametrize("name", [n for n in PLANNERS if n != "gradient"])
def test_neighbours_change_nothing(name):
    """The second moment alone, with its own noise, comes out as beside the first one."""
    both = find_planner(name)(search(), proposals(), HAND)
    one = Search(line_scorer(rows=1), Streams([2]), tiny_contract(), SearchConfig(count=20))
    alone = find_planner(name)(one, proposals()[1:], HAND[1:])
    np.testing.assert_allclose(alone.actions[0], both.actions[1], rtol=1e-6)


def test_common_random_numbers_rank_better():
    given, wrong = proposals(), {True: 0.0, False: 0.0}
    truth = np.linalg.norm(given[:, :, 3] - GOAL, axis=-1)
    for share in wrong:
        for seed in range(40):
            score = line_scorer(noise=20.0, seed=seed)
            score.config = replace(score.config, share_noise=share)
            chosen = score(given, Streams([1, 2])).total.argmax(1)
            wrong[share] += float((truth[np.arange(2), chosen] - truth.min(1)).sum())
    assert wrong[True] < 0.7 * wrong[False]


def test_the_mean_of_several_futures_ranks_better():
    given, wrong = proposals(), {1: 0.0, 16: 0.0}
    truth = np.linalg.norm(given[:, :, 3] - GOAL, axis=-1)
    for samples in wrong:
        for seed in range(20):
            score = line_scorer(noise=20.0, seed=seed)
            score.config = replace(score.config, share_noise=False, samples=samples)
            scores = score(given, Streams([1, 2]))
            assert scores.total.shape == scores.doubt.shape == given.shape[:2]
            assert scores.imagined.proprio.shape == given.shape
            chosen = scores.total.argmax(1)
            wrong[samples] += float((truth[np.arange(2), chosen] - truth.min(1)).sum())
    assert wrong[16] < 0.7 * wrong[1]


def test_unknown_planners_are_named():
    with pytest.raises(InputError, match="rank, cem, icem, mppi, gradient"):
        find_planner("magic")
