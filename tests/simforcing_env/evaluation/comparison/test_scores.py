"""The numbers of a comparison from ledgers that are made by hand."""

import json
from dataclasses import replace

import numpy as np
import pytest

from simforcing_env.evaluation.comparison.correction import correction_metrics, correction_rows, world_of
from simforcing_env.evaluation.comparison.diagnosis import diagnosis_metrics, median_horizon, truncated
from simforcing_env.evaluation.comparison.gate import judge, turned
from simforcing_env.evaluation.comparison.outcome import Outcome, read_outcomes
from simforcing_env.evaluation.comparison.report import pair_rows, policy_rows, task_rows
from simforcing_env.evaluation.comparison.scores import Scores, comparison_metrics
from world_model.errors import DataError, InputError
from world_model.metrics.agreement import cohen_kappa


def outcome(side, policy, start, success, *, frame=5, apart=None, doubt=0.1, task=0):
    ended = frame if success else None
    seconds = {"true": (1.0, 2.0), "learned": (1.0, 0.5), "again": (1.0, 2.0)}[side]
    return Outcome(
        *("p", "c", "k", policy, f"name-{policy}", side, f"start-{start}", task, start, bool(success), ended),
        *(frame if success else 20, {"coverage": 0.9 if success else 0.2}, {"coverage": 0.2}, doubt, doubt),
        {} if side != "learned" else {"pixel": None, "state": apart},
        *seconds,
    )


def ledger(true, learned, again=None, **options):
    """Outcomes of tables ``(P, S)`` of 0 and 1."""
    found = {}
    for side, table in (("true", true), ("learned", learned), ("again", again)):
        for policy, row in enumerate(table if table is not None else []):
            for start, success in enumerate(row):
                one = outcome(side, f"{policy}", start, success, task=start % 2, **options)
                found[one.key] = one
    return found


TRUE = [[0, 0, 0, 0, 0, 0, 0, 1], [0, 0, 0, 1, 1, 1, 0, 1], [1, 1, 1, 1, 1, 1, 0, 1]]
LEARNED = [[0, 0, 0, 0, 0, 0, 0, 0], [0, 0, 0, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 1, 1, 1]]


def test_numbers_by_hand():
    scores = Scores.of(ledger(TRUE, LEARNED, TRUE))
    found = comparison_metrics(scores, np.random.default_rng(0))
    assert found["bias"].value == pytest.approx((1 / 8 + 1 / 8 + 1 / 8) / 3)
    assert found["bias_signed"].value == pytest.approx((-1 + 1 + 1) / 24)
    assert found["mmrv"].value == 0
    assert found["spearman"].value == pytest.approx(1)
    assert found["pearson"].value == pytest.approx(np.corrcoef([1, 4, 7], [0, 5, 8])[0, 1])
    assert found["kappa"].value == pytest.approx(cohen_kappa(np.ravel(TRUE), np.ravel(LEARNED)))
    assert found["agreement"].value == pytest.approx(21 / 24)
    assert found["noise_floor"].value == 0
    assert found["noise_floor_kappa"].value == 1
    assert (found["policies"].value, found["tasks"].value, found["episodes"].value) == (3, 2, 24)
    assert found["speedup"].value == pytest.approx(3 / 1.5)
    assert found["speedup_env"].value == pytest.approx(4)
    assert found["pearson_coverage"].value == pytest.approx(found["pearson"].value)
    assert found["pairs_right"].value == 1
    assert "mmrv_by_task" in found


def test_without_timing_there_is_no_speed():
    found = comparison_metrics(Scores.of(ledger(TRUE, LEARNED)), np.random.default_rng(0), timing=False)
    assert not {"speedup", "speedup_env", "noise_floor"} & set(found)


def test_what_is_not_through_is_left_out():
    outcomes = ledger(TRUE, LEARNED)
    for start in range(4, 8):
        del outcomes["learned", "2", f"start-{start}"]
    assert Scores.of(outcomes).policies == ("name-0", "name-1")  # 16 episodes, and 12 of all policies
    outcomes = ledger(TRUE, LEARNED)
    del outcomes["learned", "2", "start-7"]
    assert Scores.of(outcomes).starts == tuple(f"start-{start}" for start in range(7))
    only = {key: one for key, one in outcomes.items() if key[1] == "1"}
    with pytest.raises(InputError, match="1 policies have run from all 8 starts"):
        Scores.of(only)


def test_a_floor_from_some_starts_is_held_against_the_same_ones():
    some = [row[:3] for row in TRUE]
    scores = Scores.of(ledger(TRUE, LEARNED, [[1 - one for one in row] for row in some]))
    assert scores.floor == (0, 1, 2)
    found = comparison_metrics(scores, np.random.default_rng(0))
    assert found["noise_floor_agreement"].n == 9
    assert found["noise_floor_agreement"].value == 0


def test_opinions_of_further_judges():
    outcomes = ledger(TRUE, LEARNED)
    for key, one in outcomes.items():
        if one.side == "learned":
            wrong = one.success != outcomes["true", *key[1:]].success
            truth = outcomes["true", *key[1:]].success
            outcomes[key] = replace(one, outside=0.5 if wrong else 0.1, goal=truth)
    found = diagnosis_metrics(Scores.of(outcomes), np.random.default_rng(0))
    assert found["outside_auroc"].value == 1
    assert found["outside"].value == pytest.approx((3 * 0.5 + 21 * 0.1) / 24)
    assert found["kappa_goal"].value == 1
    assert found["bias_goal"].value == 0
    assert found["judges_agree"].value == pytest.approx(21 / 24)
    without = {key: replace(one, goal=None) for key, one in outcomes.items()}
    assert "kappa_goal" not in diagnosis_metrics(Scores.of(without), np.random.default_rng(0))


def test_tables():
    scores = Scores.of(ledger(TRUE, LEARNED))
    heading, rows = policy_rows(scores)
    line = dict(zip(heading, rows[0], strict=True))
    assert (line["policy"], line["n"], line["true"], line["learned"]) == ("name-0", 8, "0.125", "0.000")
    assert line["learned_less_true"] == "-0.125"
    heading, rows = pair_rows(scores)
    last = dict(zip(heading, rows[1], strict=True))
    assert (last["a"], last["b"], last["true_difference"]) == ("name-0", "name-2", "0.750")
    assert last["true_p"] == f"{2 * 0.5**6:.3f}"
    assert last["verdict"] == f"name-2 beats name-0, stopped at episode {last['learned_stops_at']}"
    heading, rows = task_rows(scores)
    assert [row[:3] for row in rows[:2]] == [[0, "name-0", 4], [0, "name-1", 4]]
    assert len(rows) == 6


def test_a_ledger_of_two_protocols_is_told(tmp_path):
    path = tmp_path / "a.jsonl"
    lines = [o.line() for o in ledger(TRUE, LEARNED).values()]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert read_outcomes(path) == ledger(TRUE, LEARNED)
    older = [{k: v for k, v in line.items() if k not in ("outside", "goal")} for line in lines]
    path.write_text("".join(json.dumps(line) + "\n" for line in older))
    assert read_outcomes(path) == ledger(TRUE, LEARNED)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    path.write_text(path.read_text() + json.dumps({**lines[0], "protocol": "other"}) + "\n")
    assert len(read_outcomes(path, "p")) == len(lines)
    with pytest.raises(DataError, match="holds episodes of 2 protocols"):
        read_outcomes(path)
    path.write_text('{"a": 1}\n')
    with pytest.raises(DataError, match=r"line 1 of .* is no episode"):
        read_outcomes(path)


def test_the_median_horizon_counts_episodes_that_end_early():
    assert median_horizon([4, 8, None, None], [20, 20, 20, 20]) == 8
    assert median_horizon([4, None, None, None], [20, 20, 20, 20]) is None
    assert median_horizon([None, None], [3, 4]) is None
    # Of four, one leaves unparted at 2; then one of three parts at 4, one of two at 8: 1 - 2/3 * 1/2 = 2/3 by 8.
    assert median_horizon([4, 8, None, None], [20, 20, 2, 20]) == 8


def test_uncertainty_of_wrong_episodes_and_cutting_where_they_part():
    true, learned = ledger([[1, 1, 0, 0], [1, 0, 0, 0]], []), {}
    for policy, row in enumerate([[1, 1, 1, 0], [1, 0, 0, 0]]):
        for start, success in enumerate(row):
            wrong = policy == 0 and start == 2
            one = outcome("learned", f"{policy}", start, success, doubt=0.9 if wrong else 0.1, apart=3 if wrong else 9)
            learned[one.key] = one
    scores = Scores.of(true | learned)
    found = diagnosis_metrics(scores, np.random.default_rng(0))
    assert found["uncertainty_auroc"].value == 1
    assert found["parted_state"].value == 1
    assert found["parted_pixel"].value == 0
    assert found["horizon_state"].value == 9
    cut = truncated(scores, "state", np.random.default_rng(0))
    assert cut["kappa_truncated"].value == 1  # the false success came at frame 5, after they had parted at 3
    assert cut["bias_truncated"].value == 0
    assert cut["successes_cut_off"].value == 0


def test_the_gate():
    assert judge(ledger(TRUE, LEARNED), 0.9, 0.05).broken == ()
    upside_down = ledger(TRUE, LEARNED[::-1])
    said = judge(upside_down, 0.9, 0.05).broken
    assert any("spearman is -1.000, below 0.9" in sentence for sentence in said)
    assert any(sentence.startswith("mmrv is") for sentence in said)
    assert any(sentence.startswith("name-2 beats name-0 by 0.88 to 0.12 in truth") for sentence in said)
    flat = judge(ledger(TRUE, [[1] * 8] * 3), 0.9, 1.0).broken
    assert flat == ("all policies have the same learned score",)


def test_pairs_that_the_truth_is_not_sure_of_may_turn():
    true = np.array([[0, 0, 0, 1], [0, 0, 1, 1]], np.bool_)
    assert turned(true[::-1], true, ("a", "b")) == []


def test_worlds_of_a_kappa_have_it():
    for kappa in (0.0, 0.6, 0.8):
        true, imagined = world_of(kappa)
        assert cohen_kappa(true, imagined) == pytest.approx(kappa)
        assert true.mean() == imagined.mean() == 0.5


def test_correction_by_simulation_and_its_table():
    generator = np.random.default_rng(0)
    true = (generator.random((3, 40)) < [[0.2], [0.5], [0.8]]).astype(int)
    learned = np.where(generator.random((3, 40)) < 0.9, true, 1 - true)
    outcomes = ledger(true.tolist(), learned.tolist())
    found = correction_metrics(outcomes, 20, 200, 40, generator)
    assert found["width_ratio"].value < 1
    assert found["coverage"].value > 0.85
    assert found["width_ratio_kappa_0.95"].value < found["width_ratio_kappa_0.6"].value
    heading, rows = correction_rows(outcomes, 10)
    assert len(heading) == len(rows[0]) == 9
    with pytest.raises(InputError, match="--first is 40 but there are 40 starts"):
        correction_rows(outcomes, 40)
    with pytest.raises(InputError, match="succeeds sometimes"):
        correction_metrics(ledger([[1, 1], [0, 0]], [[1, 1], [0, 0]]), 2, 2, 1, generator)
