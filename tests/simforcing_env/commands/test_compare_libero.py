"""Cloned policies of LIBERO in the learned suite and in the true one, in small: record, train, compare."""

from __future__ import annotations

import pytest

from simforcing_env.commands.main import main
from simforcing_env.evaluation.comparison.outcome import read_outcomes
from world_model.results import read_results

pytest.importorskip("libero")
pytest.importorskip("matplotlib")
pytestmark = pytest.mark.slow


def simforcing(*arguments):
    assert main([str(a) for a in arguments]) == 0


def test_policies_are_trained_and_compared(tmp_path):
    data, run, path = tmp_path / "data", tmp_path / "policy", tmp_path / "compare.json"
    suite = ("--teacher", "libero", "--suite", "libero_goal", "--tasks", 8, "--look", "fast", "--workers", 1)
    simforcing("collect", "--out", data, "--split", "train", "--episodes", 3, "--behaviours", "expert", *suite)
    simforcing("policy", "train", "--dataset", data, "--out", run, "--schedule.steps", 4, "--schedule.keep", 0.5)
    policies = [f"diffusion:{run / name}" for name in ("checkpoint", "checkpoint-050")]
    starts = ("libero_goal/8/30", "libero_goal/8/31")
    options = ("--frames", 4, "--execute", 8, "--batch", 2, "--floor-episodes", 1, "--clock", "cpu")
    judges = ("--support", data, "--goal-images", data)
    where = ("--env", "SimForcing/LiberoGoal-v0", "--json", path, "--starts", *starts)
    simforcing("compare", "--policies", *policies, *where, *options, *judges)
    outcomes = read_outcomes(path.with_suffix(".ledger.jsonl"))
    assert len(outcomes) == 2 * (2 + 2 + 1)
    learned = [one for one in outcomes.values() if one.side == "learned"]
    assert all(set(one.parted) == {"pixel", "proprio", "state"} for one in learned)
    assert all(one.outside is not None and one.goal is not None for one in learned)
    metrics = read_results(path)["metrics"]
    assert {"speedup", "noise_floor", "outside", "judges_agree"} <= set(metrics)
    assert (tmp_path / "media" / "compare-audit.html").exists()
