"""The study of SimForcing's arms, in small: trained, scored, written; killed or not."""

from __future__ import annotations

import csv
from pathlib import Path

import imageio.v3 as iio
import numpy as np
import pytest

from simforcing_env.commands.main import main
from tests.world_model.training.tiny_pairs import SMALL_KEYS, record_pairs
from world_model.data.pairs import read_pairs
from world_model.results import read_results
from world_model.simforcing.scoring import cut_pairs


def test_both_sides_of_a_clip_are_the_same_moments(tmp_path: Path) -> None:
    clips = cut_pairs(read_pairs(record_pairs(tmp_path, 3, 14)), 1, 4, 2, seed=0)
    np.testing.assert_array_equal(clips.real.actions, clips.sim.actions)
    np.testing.assert_array_equal(clips.real.first, clips.sim.first)
    np.testing.assert_array_equal(clips.real.frames > 64, clips.sim.frames > 128)


@pytest.mark.timeout(300)
def test_arms_are_trained_and_scored(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folders = {name: record_pairs(tmp_path / name, 4, 10) for name in ("pairs", "held", "test")}
    line = [
        "study",
        "simforcing",
        "--pairs",
        folders["pairs"],
        "--held-out",
        folders["held"],
        "--test",
        folders["test"],
    ]
    line += ["--out", tmp_path / "runs", "--arms", "A", "B", "D", "--seeds", "0", "1", "--frames", "4"]
    line += ["--cpu-minutes", "0.004", "--stage1-minutes", "0.002", "--json", tmp_path / "s.json"]
    picture = ["--picture", tmp_path / "s.png"]
    for override in SMALL_KEYS:
        line += ["--set", override]
    assert main([str(part) for part in [*line, *picture]]) == 0
    assert iio.imread(tmp_path / "s.png").shape[0] > 3 * (2 + 1 + 1 + 3) * 32  # truth, simulator, A, B and thrice D
    metrics = read_results(tmp_path / "s.json")["metrics"]
    wanted = {f"{name}_{arm}" for name in ("psnr", "ssim", "latent_l2", "follow") for arm in "ABD"}
    wanted |= {f"psnr_D_{w}" for w in ("w0", "w03", "w06", "w1", "true_wrong", "true_corrupted_50")}
    wanted |= {"gain_over_A_db", "gain_over_B_db", "gain_true_over_B_db", "seed_noise_db"}
    assert wanted <= set(metrics)
    gain = metrics["psnr_D"].value - metrics["psnr_A"].value
    assert metrics["gain_over_A_db"].value == pytest.approx(gain, abs=1e-6)
    table = list(csv.reader((tmp_path / "s.csv").open()))
    assert [row[0][0] for row in table[1:]] == ["A", "B", "D"]
    assert {len(row) for row in table} == {18}
    assert float(table[3][8]) == pytest.approx(metrics["psnr_D_w0"].value, abs=0.006)
    stamp = (tmp_path / "runs/seed0/D/state.pt").stat().st_mtime_ns
    assert main([str(part) for part in line]) == 0  # nothing is trained a second time
    assert (tmp_path / "runs/seed0/D/state.pt").stat().st_mtime_ns == stamp
    assert read_results(tmp_path / "s.json")["metrics"] == metrics
    (tmp_path / "runs").rename(tmp_path / "gone")  # another machine, on which only the scores are
    line += ["--scores", tmp_path / "gone/scores"]
    assert main([str(part) for part in line]) == 0
    assert read_results(tmp_path / "s.json")["metrics"] == metrics
    assert not (tmp_path / "runs").exists()
    line[line.index("0.002")] = "0.001"
    assert main([str(part) for part in line]) == 2
    assert "not of" in capsys.readouterr().err


def test_wrong_arms_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = [
        "study",
        "simforcing",
        *(part for name in ("--pairs", "--held-out", "--test", "--out") for part in (name, "x")),
    ]
    assert main([*line, "--arms", "Z"]) != 0
    assert "--arms are Z of A B C D E F" in capsys.readouterr().err
