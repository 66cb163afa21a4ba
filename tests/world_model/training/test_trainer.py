"""Resume equals an uninterrupted run, kills lose nothing, budgets and logs."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tests.world_model.training.moving_square import trainer
from world_model.errors import DataError, InputError
from world_model.training.state import load_state


def weights(folder: Path) -> dict[str, torch.Tensor]:
    state = load_state(folder / "state.pt")
    return {**state["model"], **{f"average.{k}": v for k, v in state["average"].items()}}


def test_resume_equals_uninterrupted(tmp_path: Path) -> None:
    trainer(tmp_path / "whole").run()
    for stop in (3, 7, None):
        trainer(tmp_path / "parts").run(stop_at=stop)
    one, two = weights(tmp_path / "whole"), weights(tmp_path / "parts")
    assert one.keys() == two.keys()
    for name, value in one.items():
        assert torch.equal(value, two[name]), name


def test_seed_decides_the_run(tmp_path: Path) -> None:
    trainer(tmp_path / "a").run(stop_at=2)
    trainer(tmp_path / "b", seed=1).run(stop_at=2)
    one, two = weights(tmp_path / "a"), weights(tmp_path / "b")
    assert any(not torch.equal(v, two[k]) for k, v in one.items())


def test_without_windows_only_the_foreseer_learns(tmp_path: Path) -> None:
    one = trainer(tmp_path, batch=0)
    before = {name: value.clone() for name, value in one.plain.state_dict().items()}
    one.run()
    changed = {
        name.split(".")[0] for name, value in one.plain.state_dict().items() if not torch.equal(value, before[name])
    }
    assert changed == {"step", "foreseer", "doubt"}
    with pytest.raises(InputError, match=r"batch is 0 and train\.sequences 0 but one must be at least 1"):
        trainer(tmp_path / "none", batch=0, sequences=0)


KILLS = """
import os, random, signal, sys, time
from pathlib import Path
from tests.world_model.training.moving_square import trainer

def train(folder):
    child = os.fork()  # all is imported by now: six children cost less than one start of Python
    if not child:
        trainer(Path(folder), steps=28, checkpoint_seconds=0.0, validate_seconds=1e9).run()
        os._exit(0)
    return child

def checkpoint():
    state = Path(sys.argv[2], "state.pt")
    return state.stat().st_mtime_ns if state.exists() else None

assert os.waitpid(train(sys.argv[1]), 0)[1] == 0
moments = random.Random(0)
for _ in range(5):
    child, seen, times = train(sys.argv[2]), checkpoint(), []
    for _ in range(moments.randint(2, 5)):  # checkpoints, and some part of the way to the next
        while checkpoint() == seen:
            assert os.waitpid(child, os.WNOHANG) == (0, 0), "it ended by itself"
            time.sleep(0.001)
        seen = checkpoint()
        times.append(time.monotonic())
    time.sleep(moments.random() * (times[-1] - times[-2]))
    assert os.waitpid(child, os.WNOHANG) == (0, 0), "it ended by itself"
    os.kill(child, signal.SIGKILL)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
assert os.waitpid(train(sys.argv[2]), 0)[1] == 0
"""


def test_kills_lose_nothing(tmp_path: Path) -> None:
    """A run killed with SIGKILL at five random moments ends with the weights of one that was left alone."""
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    command = [sys.executable, "-u", "-c", KILLS, str(whole), str(killed)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    resumed = [int(step) for step in re.findall(r"resumed at step (\d+)", done.stdout)]
    assert len(resumed) == 5, done.stdout
    assert 2 <= resumed[0] < resumed[1] < resumed[2] < resumed[3] < resumed[4] < 28
    one, two = weights(whole), weights(killed)
    assert all(torch.equal(value, two[name]) for name, value in one.items())
    assert not list(killed.glob(".state.pt*")), "a killed writer's file stays until the next one writes"


def test_budget_ends_the_run_and_the_schedule(tmp_path: Path) -> None:
    run = trainer(tmp_path, steps=1_000_000, log_every=1)
    run.run(cpu_minutes=0.01)
    assert 0.01 * 60 <= run.seconds < 30
    lines = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert {line["kind"] for line in lines} == {"train", "validation"}
    last = [line for line in lines if line["kind"] == "validation"][-1]
    assert {"psnr_1", "copy_1", "shuffle_gap"} <= last.keys()
    assert list((tmp_path / "rollouts").glob("*.mp4"))
    assert list((tmp_path / "tensorboard").iterdir())
    assert run.optimizer.param_groups[0]["lr"] < run.config.optim.learning_rate


def test_overfit_check_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trainer(tmp_path, overfit_steps=40).run(stop_at=1)
    assert "overfit check on 16 clips, 40 steps" in capsys.readouterr().out


def test_export_gets_the_average(tmp_path: Path) -> None:
    seen: list[tuple[int, float]] = []
    trainer(tmp_path, export=lambda model, step, seconds: seen.append((step, seconds))).run(stop_at=2)
    assert seen[-1][0] == 2
    assert seen[-1][1] > 0


def test_damaged_state_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "state.pt").write_bytes(b"not a state")
    with pytest.raises(DataError, match=r"state\.pt is not readable .* delete it"):
        trainer(tmp_path)


def test_steps_without_a_finite_gradient_are_passed_over(tmp_path: Path) -> None:
    """They change no weight, and too many in a row end the run with one sentence."""
    run = trainer(tmp_path, steps=100)
    model = run.accelerator.unwrap_model(run.loss).model
    loss, calls = model.loss, 0

    def sometimes(clip: object, generator: torch.Generator) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        nonlocal calls
        calls += 1
        value, logs = loss(clip, generator)
        return value * (float("nan") if calls > 2 else 1.0), logs

    model.loss = sometimes
    with pytest.raises(DataError, match=r"21 steps in a row without a finite gradient \(step 23\)"):
        run.run()
    assert all(torch.isfinite(p).all() for p in model.parameters())
