"""Training by several processes, as a launcher starts them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.world_model.training.tiny_pairs import SMALL, record_pairs
from world_model.pretrained import LearnedSimulator


@pytest.mark.timeout(300)
def test_two_processes_train_what_a_loss_does_not_reach(tmp_path: Path) -> None:
    """In stage 1 of SimForcing the weights that are told of a simulator get no gradient."""
    pairs = record_pairs(tmp_path / "pairs")
    launch = ["accelerate.commands.launch", "--cpu", "--num_processes", "2", "--num_machines", "1"]
    launch += ["--mixed_precision", "no", "--dynamo_backend", "no", "-m", "simforcing_env.commands.main"]
    words = ["train", "--config", "pusht-simforcing-irasim-stage1", "--dataset", pairs, "--held-out", pairs]
    sets = [word for setting in SMALL for word in ("--set", setting)]
    line = [sys.executable, "-m", *launch, *words, "--out", tmp_path / "run", *sets, "--set", "train.steps=3"]
    done = subprocess.run([str(word) for word in line], capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr[-2000:]
    assert LearnedSimulator.from_pretrained(tmp_path / "run/checkpoint").recipe["steps"] == 3
