"""The ledger of trials survives kills and counts an episode once."""

from dataclasses import asdict, replace
from pathlib import Path

import pytest

from teachers.libero.experts.knobs import Knobs
from teachers.libero.experts.trials import Trial, append, by_task, code_hash, read_trials
from world_model.errors import DataError

TRIAL = Trial("libero_goal", 3, "open it", 0, 0, True, 90, asdict(Knobs()), code_hash())


def test_a_ledger_reads_back_what_was_written(tmp_path: Path) -> None:
    path = tmp_path / "new" / "trials.jsonl"
    assert read_trials(path) == {}
    trials = [TRIAL, replace(TRIAL, init=1, success=False), replace(TRIAL, task=0)]
    for trial in trials:
        append(path, trial)
    append(path, TRIAL)
    found = read_trials(path)
    assert list(found.values()) == trials
    assert [(key, len(group)) for key, group in by_task(found.values())] == [
        (("libero_goal", 0), 1),
        (("libero_goal", 3), 2),
    ]


def test_other_knobs_code_or_limits_are_other_trials() -> None:
    worse = replace(TRIAL, knobs=asdict(Knobs(action_noise=0.2)))
    others = worse, replace(TRIAL, code="other"), replace(TRIAL, seed=1), replace(TRIAL, limit=20)
    assert len({TRIAL.key, *(other.key for other in others)}) == 5
    assert replace(TRIAL, success=False, steps=3).key == TRIAL.key


def test_half_a_line_left_by_a_kill_is_passed_over_and_replaced(tmp_path: Path) -> None:
    path = tmp_path / "trials.jsonl"
    append(path, TRIAL)
    with path.open("a") as file:
        file.write('{"suite": "libero_')
    assert list(read_trials(path).values()) == [TRIAL]
    append(path, replace(TRIAL, init=1))
    assert len(read_trials(path)) == 2


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    path = tmp_path / "trials.jsonl"
    path.write_text("nonsense\n")
    append(path, TRIAL)
    with pytest.raises(DataError, match="line 1 of"):
        read_trials(path)
