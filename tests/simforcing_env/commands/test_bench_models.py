"""Sizes and the cost of a step, as commands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from simforcing_env.commands.main import main


def test_params(tmp_path: Path) -> None:
    assert main(["bench", "params", "--json", str(tmp_path / "p.json")]) == 0
    metrics = json.loads((tmp_path / "p.json").read_text())["metrics"]
    assert [round(metrics[name]["value"], 1) for name in ("S", "B", "L", "XL")] == [33.1, 131.9, 461.0, 679.0]
    assert metrics["LVDM"]["value"] == pytest.approx(687, rel=2e-3)
    assert set(metrics) == {"S", "B", "L", "XL", "VDM", "LVDM"}


@pytest.mark.slow
def test_trainstep(tmp_path: Path) -> None:
    words = ["--grid", "4", "4", "--frames", "3", "--repeats", "1", "--json", str(tmp_path / "t.json")]
    assert main(["bench", "trainstep", *words]) == 0
    metrics = json.loads((tmp_path / "t.json").read_text())["metrics"]
    assert {"ratio_step", "ratio_memory", "ratio_step_best", "ratio_memory_best"} < set(metrics)
    # Weights, gradients and two moments of 33 million parameters are 530 MB on both sides.
    assert all(500 < metrics[f"memory_{who}_float32"]["value"] < 1500 for who in ("ours", "plain"))


def test_simforcing_counts_without_a_checkpoint(tmp_path: Path) -> None:
    assert main(["bench", "simforcing", "--published-steps", "20", "--json", str(tmp_path / "c.json")]) == 0
    metrics = json.loads((tmp_path / "c.json").read_text())["metrics"]
    assert metrics["passes_published_student_w1"]["value"] == 40
    assert metrics["tflop_published_w0"]["value"] == pytest.approx(
        metrics["tflop_actions"]["value"] + 20 * metrics["tflop_pass"]["value"]
    )
    assert not any(name.startswith("seconds") for name in metrics)
