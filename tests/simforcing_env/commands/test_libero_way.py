"""The whole way of a learned LIBERO, in small: record, train, heads, pack, drive, evaluate."""

from __future__ import annotations

import csv
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

from simforcing_env.commands.main import main
from world_model.results import read_results

pytest.importorskip("libero")
pytest.importorskip("matplotlib")
pytestmark = pytest.mark.slow
SMALL = ("train.overfit_steps=0", "train.batch=2", "train.sequences=4", "train.validation_clips=2")


def simforcing(*arguments: object) -> None:
    assert main([str(a) for a in arguments]) == 0


def test_from_recording_to_driving(tmp_path: Path) -> None:
    data, held_out, run, heads, out = (tmp_path / name for name in ("data", "held", "run", "heads", "tiny"))
    common = ("--teacher", "libero", "--suite", "libero_goal", "--tasks", 1, "--look", "fast", "--workers", 1)
    for folder, split in ((data, "train"), (held_out, "validation")):
        simforcing("collect", "--out", folder, "--split", split, "--episodes", 4, "--behaviours", "expert", *common)
    sets = [part for value in SMALL for part in ("--set", value)]
    both = ("--dataset", data, "--held-out", held_out)
    simforcing("train", "--config", "libero-goal-nano", *both, "--out", run, "--stop-at", 2, *sets)
    simforcing("train", "heads", "--checkpoint", run / "checkpoint", *both, "--out", heads, "--training.steps", 3)
    simforcing("pack", "--checkpoint", heads, "--out", out, "--starts-of", data, "--starts-each", 2)

    envs = gym.make_vec("SimForcing/PushT-v0", num_envs=2, checkpoint=str(out), world="libero_goal")
    observation, _ = envs.reset(seed=0)
    assert {name: array.shape for name, array in observation.items()} == {
        "image_agentview": (2, 128, 128, 3),
        "image_wrist": (2, 128, 128, 3),
        "proprio": (2, 7),
    }
    *_, infos = envs.step(envs.action_space.sample())
    np.testing.assert_array_equal(infos["success"], infos["labels"]["success_1"])
    envs.close()

    judged = ("--checkpoint", out, "--dataset", held_out)
    simforcing("evaluate", "openloop", *judged, "--json", tmp_path / "o.json")
    simforcing("evaluate", "video", *judged, "--horizons", 1, 8, "--json", tmp_path / "v.json")
    assert {"agreement", "success_true"} <= set(read_results(tmp_path / "o.json")["metrics"])
    assert {"psnr_h1", "psnr_h8", "psnr_h8_success"} <= set(read_results(tmp_path / "v.json")["metrics"])
    with (tmp_path / "v-metrics.csv").open(encoding="utf-8", newline="") as file:
        assert {"gripper_cm_h8", "psnr_wrist_h8"} <= {row["metric"] for row in csv.DictReader(file)}
    assert (tmp_path / "media" / "v.png").exists()
