"""True episodes of one comparison stand in for those of another, if they were run in the same way."""

from dataclasses import replace

import pytest

from simforcing_env.evaluation.comparison.outcome import read_outcomes
from simforcing_env.evaluation.comparison.protocol import write_protocol
from simforcing_env.evaluation.comparison.truth import borrow_truth
from tests.simforcing_env.evaluation.comparison.test_playing import PROTOCOL
from tests.simforcing_env.evaluation.comparison.test_scores import LEARNED, TRUE, ledger
from world_model.errors import ContractError, InputError
from world_model.ledger import append_records

OURS = replace(PROTOCOL, checkpoint="new", history=5, sampler_steps=2)
WANTED = [(policy, f"start-{start}") for policy in ("0", "1") for start in range(8)]


def earlier(folder):
    """A finished comparison of three policies from eight starts."""
    path = folder / "earlier.json"
    write_protocol(path.with_suffix(".protocol.json"), PROTOCOL)
    lines = [replace(o, protocol=PROTOCOL.hash).line() for o in ledger(TRUE, LEARNED, TRUE).values()]
    append_records(path.with_suffix(".ledger.jsonl"), lines)
    return path


def test_true_episodes_come_once_and_no_learned_ones(tmp_path):
    against, mine = earlier(tmp_path), tmp_path / "mine.ledger.jsonl"
    assert borrow_truth(against, OURS, mine, WANTED) == 2 * 8 * 2
    assert borrow_truth(against, OURS, mine, WANTED) == 0
    found = read_outcomes(mine, OURS.hash)
    assert {key[0] for key in found} == {"true", "again"}
    assert {key[1:] for key in found} == set(WANTED)
    assert all(one.checkpoint == "new" for one in found.values())
    assert [found["true", "1", f"start-{start}"].success for start in range(8)] == [bool(one) for one in TRUE[1]]


def test_truth_that_was_run_otherwise_is_refused(tmp_path):
    against, mine = earlier(tmp_path), tmp_path / "mine.ledger.jsonl"
    with pytest.raises(ContractError, match="ran with frames 10 and this comparison has 11"):
        borrow_truth(against, replace(OURS, frames=11), mine, WANTED)
    with pytest.raises(InputError, match="no true episode of policy 9 from start-0, and 1 more are missing"):
        borrow_truth(against, OURS, mine, [*WANTED, ("9", "start-0"), ("9", "start-1")])
    assert not mine.exists()
