import subprocess
import sys

import gymnasium as gym
import numpy as np
import pytest

import simforcing_env  # noqa: F401 (registers the ids)
from simforcing_env.commands.bench_env import Config, _seed, run
from tests.world_model.untrained import untrained_pusht
from world_model.errors import InputError
from world_model.results import read_results


def test_it_writes_every_metric(root, tmp_path):
    untrained_pusht().save_pretrained(tmp_path / "untrained")
    arguments = ["--checkpoint", tmp_path / "untrained", "--json", tmp_path / "bench.json", "--seconds", 0.02]
    arguments += [
        "--stretches",
        2,
        "--processes",
        1,
        "--batches",
        1,
        8,
        "--branches",
        5,
        "--branch-frames",
        3,
        "--threads",
        1,
    ]
    command = [sys.executable, "-m", "simforcing_env.commands.main", "bench", "env", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=root, timeout=200)
    assert done.returncode == 0, done.stderr
    record = read_results(tmp_path / "bench.json")
    assert set(record["metrics"]) == {
        *("fps_single", "fps_k1", "fps_k8", "branch5x3_s", "teacher_fps", "teacher_env_fps"),
        *("import_s", "make_reset_s", "peak_mb", "ratio_k1", "ratio_k8"),
    }
    assert all(metric.value > 0 for metric in record["metrics"].values())
    fast, slow = (record["metrics"][name].value for name in ("fps_k8", "teacher_fps"))
    assert abs(record["metrics"]["ratio_k8"].value - fast / slow) < 1e-9
    assert record["sampler_steps"] == 1
    assert record["checkpoint"]


def test_the_seed_decides_episodes_and_actions():
    env = gym.make_vec("SimForcing/PushT-Teacher-v0", num_envs=2)
    drawn = []
    for seed in (3, 3, 4):
        _seed(env, seed)
        drawn.append(env.step(env.action_space.sample())[0]["image"])
    np.testing.assert_array_equal(drawn[0], drawn[1])
    assert (drawn[0] != drawn[2]).any()


def test_other_ids_are_refused():
    for name in ("SimForcing/PushT-Teacher-v0", "Nothing-v0"):
        with pytest.raises(InputError, match="learned environment"):
            run(Config(env=name))
