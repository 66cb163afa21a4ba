"""IRASim's study as a command: two of its models, trained for a second each, and nothing done twice."""

from __future__ import annotations

import json
from pathlib import Path

import imageio.v3 as iio
import numpy as np
import pytest

from simforcing_env.commands.main import main
from world_model.training import irasim_study
from world_model.training.irasim_study import STUDY

pytest.importorskip("gym_pusht", reason="needs the pusht extra")
SETS = (
    "train.model.dim=16",
    "train.batch=1",
    "train.validation_clips=1",
    "sampler.steps=1",
)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("study")
    for split in ("train", "validation"):
        words = ["collect", "--out", out / split, "--frames", 150, "--split", split, "--workers", 1]
        assert main([str(word) for word in words]) == 0
    return out


def words(data: Path, out: Path, *more: object) -> list[str]:
    sets = [word for setting in SETS for word in ("--set", setting)]
    places = ["--dataset", data / "train", "--held-out", data / "validation", "--out", out, "--json", out / "s.json"]
    budget = ["--cpu-minutes", 0.01, "--clips", 2, "--seeds", 0]
    return [str(word) for word in ["study", "irasim", *places, *budget, *sets, *more]]


def test_two_models(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each in a call of its own, as they may run side by side; then both, which trains nothing."""
    for model in ("frame_ada", "vdm"):
        assert main(words(data, tmp_path, "--models", model)) == 0
    monkeypatch.setattr(irasim_study, "start_run", lambda *a, **k: pytest.fail("trained again"))
    capsys.readouterr()
    assert main(words(data, tmp_path, "--models", "frame_ada", "vdm")) == 0
    assert "best to worst by psnr: " in capsys.readouterr().out
    written = json.loads((tmp_path / "s.json").read_text())
    metrics = written["metrics"]
    assert written["sampler_steps"] == 1
    assert written["notes"]["minutes"] == metrics["minutes"]["value"] == 0.01
    assert written["notes"]["sampler"]["vdm"]["kind"] == "euler"
    assert 0 < metrics["vdm_parameters"]["value"] < 3
    for name in ("frame_ada_psnr", "frame_ada_latent_l2", "vdm_psnr", "vdm_latent_l2", "copy_psnr", "vdm_psnr_seed_0"):
        assert np.isfinite(metrics[name]["value"])
    assert np.isfinite(metrics["frame_ada_shuffle_gap"]["value"])
    assert metrics["copy_latent_l2"]["value"] > 0
    assert iio.imread(tmp_path / "media/s.png").shape[0] > 2 * 3 * 64  # two clips: the truth and two models
    assert main(words(data, tmp_path, "--models", "frame_ada", "--set", "train.model.heads=2")) == 2
    assert "choose another --out" in capsys.readouterr().err


def test_unknown_model(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words(data, tmp_path, "--models", "gan")) == 2
    assert "--models holds 'gan' but the models are " + ", ".join(STUDY) in capsys.readouterr().err
