"""Intervals against values computed by hand or known, and the results file as a round trip."""

import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from world_model.errors import DataError, InputError
from world_model.results import (
    FIELDS,
    Metric,
    bootstrap_interval,
    describe_device,
    read_results,
    this_command,
    wilson,
    write_results,
)


def header(**changes):
    return {
        "command": "simforcing evaluate video --json x.json",
        "checkpoint": "0123456789abcdef",
        "contract": "fedcba9876543210",
        "device": {"type": "cpu", "processor": "p", "threads": 1, "dtype": "bfloat16"},
        "sampler_steps": 2,
        "seeds": [900000, 900001],
        **changes,
    }


def test_wilson_matches_the_formula():
    successes, n, z = 7, 10, 1.959963984540054
    p = successes / n
    centre = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z * np.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    assert wilson(successes, n) == pytest.approx((centre - half, centre + half), abs=1e-9)


def test_wilson_at_the_ends_stays_inside_and_is_not_empty():
    low, high = wilson(0, 20)
    assert low == pytest.approx(0, abs=1e-12)
    assert 0.1 < high < 0.25
    low, high = wilson(20, 20)
    assert high == pytest.approx(1, abs=1e-12)
    assert 0.75 < low < 0.9


@pytest.mark.parametrize(("successes", "n"), [(0, 0), (3, 2), (-1, 5)])
def test_wilson_refuses_what_is_no_rate(successes, n):
    with pytest.raises(InputError, match=f"{successes} in {n}"):
        wilson(successes, n)


def test_bootstrap_agrees_with_the_normal_interval_of_a_mean():
    values = np.random.default_rng(0).normal(3.0, 2.0, 400)
    low, high = bootstrap_interval(values, np.random.default_rng(1))
    half = 1.96 * values.std(ddof=1) / 20
    assert low == pytest.approx(values.mean() - half, abs=0.05)
    assert high == pytest.approx(values.mean() + half, abs=0.05)


def test_bootstrap_covers_the_true_mean_about_95_times_in_100():
    data, resampling = np.random.default_rng(2), np.random.default_rng(3)
    intervals = [bootstrap_interval(data.normal(1.0, 1.0, 50), resampling, resamples=400) for _ in range(200)]
    assert 0.88 <= np.mean([low <= 1.0 <= high for low, high in intervals]) <= 0.99


def test_bootstrap_is_a_function_of_its_generator():
    values = np.arange(30.0)
    first = bootstrap_interval(values, np.random.default_rng(5))
    assert first == bootstrap_interval(values, np.random.default_rng(5))
    assert first != bootstrap_interval(values, np.random.default_rng(6))


def test_bootstrap_of_one_or_equal_values():
    assert bootstrap_interval([4.0], np.random.default_rng(0)) == (None, None)
    assert bootstrap_interval([4.0, 4.0, 4.0], np.random.default_rng(0)) == (4.0, 4.0)


@pytest.mark.parametrize("values", [[], [[1.0, 2.0]], [1.0, np.nan]])
def test_bootstrap_refuses_what_is_no_row_of_numbers(values):
    with pytest.raises(InputError, match="finite values"):
        bootstrap_interval(values, np.random.default_rng(0))


def test_results_round_trip(tmp_path):
    path = tmp_path / "deep" / "pusht-video.json"
    metrics = {
        "psnr_h16": Metric.mean([30.0, 32.0, 31.0], np.random.default_rng(0), unit="dB"),
        "success": Metric.rate(9, 10),
        "best_shift": Metric(np.int64(0), n=300),
    }
    write_results(path, metrics=metrics, **header())
    raw = json.loads(path.read_text())
    assert tuple(raw) == FIELDS
    assert raw["metrics"]["psnr_h16"]["value"] == 31.0
    assert set(raw["metrics"]["success"]) == {"value", "low", "high", "n", "unit"}
    again = read_results(path)
    assert again["metrics"] == metrics
    assert again["sampler_steps"] == 2
    assert [p.name for p in path.parent.iterdir()] == ["pusht-video.json"]


def test_a_nan_metric_is_refused_by_name_and_nothing_is_written(tmp_path):
    with pytest.raises(InputError, match="'mae' is"):
        write_results(tmp_path / "x.json", metrics={"mae": Metric(float("nan"))}, **header())
    with pytest.raises(InputError, match="no metrics"):
        write_results(tmp_path / "x.json", metrics={}, **header())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"command": "x"}'])
def test_a_foreign_file_is_refused_by_name(tmp_path, text):
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(DataError, match=r"x\.json is not a results file"):
        read_results(path)


def test_a_kill_while_writing_leaves_the_old_file_whole(tmp_path):
    path = tmp_path / "x.json"
    write_results(path, metrics={"a": Metric(1.0)}, **header())
    writer = (
        "import sys; from world_model.results import *\n"
        f"head = {header()!r}\n"
        "m = {f'm{i}': Metric(2.0) for i in range(5000)}\n"
        "print('ready', flush=True)\n"
        f"while True: write_results({str(path)!r}, metrics=m, **head)\n"
    )
    for wait in (0.05, 0.11, 0.17):
        with subprocess.Popen([sys.executable, "-c", writer], stdout=subprocess.PIPE) as child:
            assert child.stdout.readline() == b"ready\n"
            with pytest.raises(subprocess.TimeoutExpired):
                child.wait(wait)
            os.kill(child.pid, signal.SIGKILL)
        assert len(read_results(path)["metrics"]) in (1, 5000)


def test_device_and_command_are_told():
    device = describe_device("cpu", "torch.bfloat16")
    assert device["dtype"] == "bfloat16"
    assert device["processor"]
    assert device["threads"] >= 1
    out = subprocess.run(
        [sys.executable, "-c", "from world_model.results import this_command; print(this_command())", "a b", "--c"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert out.strip() == "-c 'a b' --c"
    assert this_command()
