"""``simforcing experts`` measures, writes its files, and runs no episode twice."""

import csv
from pathlib import Path

import pytest

from simforcing_env.commands.experts import Config, run
from world_model.errors import InputError
from world_model.extras import absent
from world_model.results import read_results

needs_libero = pytest.mark.skipif(bool(absent("libero")), reason='needs pip install "simforcing-env[libero]"')


@needs_libero
def test_it_measures_and_continues(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = Config(json=tmp_path / "experts.json", suites=("libero_goal",), tasks=(7,), inits=1, steps=300)
    run(config)
    metric = read_results(config.json)["metrics"]["success_libero_goal"]
    assert (metric.value, metric.n) == (1.0, 1)
    assert 0.0 < metric.low < 1.0
    (row,) = csv.DictReader((tmp_path / "experts.csv").open())
    assert (row["suite"], row["task"], row["successes"], row["n"]) == ("libero_goal", "7", "1", "1")
    assert row["language"] == "turn on the stove"
    ledger = (tmp_path / "experts.ledger.jsonl").read_text()
    assert ledger.count("\n") == 1
    assert "turn on the stove" in capsys.readouterr().out
    run(config)
    assert (tmp_path / "experts.ledger.jsonl").read_text() == ledger


def test_no_initial_states_measure_nothing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--inits is 0"):
        run(Config(json=tmp_path / "experts.json", inits=0))


@needs_libero
def test_initial_states_are_chosen_and_no_others_exist(tmp_path: Path) -> None:
    where = {"json": tmp_path / "experts.json", "suites": ("libero_goal",), "tasks": (7,), "steps": 20}
    run(Config(first=3, inits=3, together=2, **where))
    assert read_results(tmp_path / "experts.json")["seeds"] == [3, 4, 5]
    with pytest.raises(InputError, match="initial state 50, the last is 49"):
        run(Config(first=41, **where))


@needs_libero
def test_a_report_of_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no such episodes"):
        run(Config(json=tmp_path / "experts.json", suites=("libero_goal",), tasks=(7,), inits=1, report_only=True))
