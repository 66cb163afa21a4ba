"""IRASim's studies as commands, small: trained for a second, scored, drawn, and nothing done twice."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from types import SimpleNamespace

import imageio.v3 as iio
import numpy as np
import pytest
import torch

from simforcing_env.commands.main import main
from world_model.training import irasim_scaling, irasim_study
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


def words(data: Path, out: Path, *more: object, study: str = "irasim") -> list[str]:
    settings = SETS if study == "irasim" else SETS[1:]
    sets = [word for setting in settings for word in ("--set", setting)]
    places = ["--dataset", data / "train", "--held-out", data / "validation", "--out", out, "--json", out / "s.json"]
    budget = ["--cpu-minutes", 0.01] if study == "irasim" else ["--steps", 8]
    return [str(word) for word in ["study", study, *places, *budget, "--clips", 2, "--seeds", 0, *sets, *more]]


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
    rows = list(csv.reader((tmp_path / "s.csv").open()))
    assert [row[0] for row in rows] == ["model", "frame_ada", "vdm", "copying the known frame"]
    assert {len(row) for row in rows} == {10}
    assert iio.imread(tmp_path / "media/s.png").shape[0] > 2 * 3 * 64  # two clips: the truth and two models
    assert main(words(data, tmp_path, "--models", "frame_ada", "--set", "train.model.heads=2")) == 2
    assert "give another folder" in capsys.readouterr().err


def test_seeds_of_two_machines(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Seed 0 here and seed 1 there, merged, are the study of both seeds; what does not belong together is refused."""
    line = words(data, tmp_path, "--models", "frame_ada")
    there = [word if word != str(tmp_path / "s.json") else str(tmp_path / "there.json") for word in line]
    seed = there.index("--seeds") + 1
    assert main(line) == 0
    assert main([*there[:seed], "1", *there[seed + 1 :], "--merge", str(tmp_path / "s.json")]) == 0
    merged = json.loads((tmp_path / "there.json").read_text())
    assert main([*line[:seed], "0", "1", *line[seed + 1 :]]) == 0
    both = json.loads((tmp_path / "s.json").read_text())
    assert merged["seeds"] == both["seeds"] == [0, 1]
    assert merged["metrics"] == both["metrics"]
    (earlier,) = merged["notes"]["merged"]
    assert (earlier["seeds"], earlier["device"]["type"]) == ([0], "cpu")
    assert both["notes"]["merged"] == []
    psnr = merged["metrics"]
    each = [psnr[f"frame_ada_psnr_seed_{seed}"] for seed in (0, 1)]
    for side in ("value", "low", "high"):
        assert psnr["frame_ada_psnr"][side] == pytest.approx((each[0][side] + each[1][side]) / 2)
    assert (tmp_path / "there.csv").read_text() == (tmp_path / "s.csv").read_text()
    assert main([*there, "--merge", str(tmp_path / "s.json")]) == 2
    assert "frame_ada_psnr_seed_0, which is there already; give each seed once" in capsys.readouterr().err
    longer = [word if word != "0.01" else "0.02" for word in there]
    assert main([*longer, "--merge", str(tmp_path / "s.json")]) == 2
    assert "with minutes 0.01, not 0.02; merge files of equal settings" in capsys.readouterr().err
    assert main([*there, "--models", "vdm", "--merge", str(tmp_path / "s.json")]) == 2
    assert "lacks model 'vdm'" in capsys.readouterr().err


def test_unknown_model(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words(data, tmp_path, "--models", "gan")) == 2
    assert "model 'gan' is unknown; the models are " + ", ".join(STUDY) in capsys.readouterr().err


@pytest.mark.parametrize(
    ("sets", "text"),
    [
        ((), "action_dim 7 but data 'pusht' and codec need 2; give --set train.model.action_dim=2"),
        (
            ("train.model.action_dim=2", "train.model.grid=[8,8]"),
            "grid (8, 8) but data 'pusht' and codec need (16, 16)",
        ),
        (("train.model.action_dim=2", "codec.channels=12"), "latent_channels 24 but data 'pusht' and codec need 12"),
    ],
)
def test_data_of_other_shapes(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], sets: tuple[str, ...], text: str
) -> None:
    places = ["--dataset", data / "train", "--held-out", data / "validation", "--out", tmp_path / "run"]
    words = ["train", "--config", "robots-nano", *places, *(word for one in sets for word in ("--set", one))]
    assert main([str(word) for word in words]) == 2
    assert text in capsys.readouterr().err


def test_scaling(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two sizes; the larger has more parameters and takes more computing; the run that was killed is gone on with."""
    monkeypatch.setattr(irasim_scaling, "NANO_SIZES", {"xs": (2, 8, 1), "s": (2, 16, 2)})
    line = words(data, tmp_path, "--sizes", "xs", "s", study="scaling")
    assert main(line) == 0
    metrics = json.loads((tmp_path / "s.json").read_text())["metrics"]
    wanted = {f"{size}_latent_l2{mark}" for size in ("xs", "s") for mark in ("", "_1_steps", "_2_steps", "_4_steps")}
    assert wanted | {"copy_latent_l2", "xs_pflop", "s_parameters", "xs_psnr"} <= set(metrics)
    assert metrics["xs_parameters"]["value"] < metrics["s_parameters"]["value"]
    assert metrics["xs_pflop"]["value"] < metrics["s_pflop"]["value"]
    rows = list(csv.reader((tmp_path / "s.csv").open()))
    assert [row[:3:2] for row in rows[1:5]] == [["xs", str(k)] for k in (1, 2, 4, 8)]
    assert iio.imread(tmp_path / "media/s.png").ndim == 3
    (last,) = tmp_path.glob("s-seed-0/scores-8-of-8-*.npz")
    last.unlink()  # killed while the last score was taken
    assert main(line) == 0
    assert json.loads((tmp_path / "s.json").read_text())["metrics"] == metrics
    next(tmp_path.glob("s-seed-0/scores-4-of-8-*.npz")).unlink()
    assert main(line) == 2
    assert "has trained for 8 steps but scores-4-of-8" in capsys.readouterr().err


def test_the_work_of_a_step_is_counted() -> None:
    """A linear layer of 3 to 5 numbers over 7 rows: 2 * 3 * 5 * 7 forward and as much again for its weights."""
    model = torch.nn.Linear(3, 5, bias=False)
    model.loss = lambda clip, generator: (model(clip).sum(), {})  # type: ignore[assignment]
    windows = SimpleNamespace(clip=lambda numbers, codec: torch.ones(7, 3))
    trainer = SimpleNamespace(plain=model, windows=windows, codec=None, config=SimpleNamespace(batch=7))
    assert irasim_scaling.step_flop(trainer) == 2 * (2 * 3 * 5 * 7)  # type: ignore[arg-type]


def test_real_robots(shared_data: Path, tmp_path: Path) -> None:
    pytest.importorskip("google_crc32c", reason="needs the rlds extra")
    sets = ("train.model.dim=16", "train.model.depth=2", "train.batch=1", "sampler.steps=1")
    line = ["study", "robots", "--shared", shared_data, "--robots", "bridge_rlds", "--out", tmp_path / "runs"]
    line += ["--cpu-minutes", 0.005, "--clips", 3, "--json", tmp_path / "r.json"]
    line = [str(word) for word in [*line, *(word for setting in sets for word in ("--set", setting))]]
    assert main(line) == 0
    metrics = json.loads((tmp_path / "r.json").read_text())["metrics"]
    names = ("psnr", "psnr_copy", "latent_l2", "latent_l2_copy", "shuffle_gap")
    assert {f"bridge_rlds_{side}_{name}" for side in ("seen", "held_out") for name in names} <= set(metrics)
    assert metrics["bridge_rlds_seen_psnr"]["n"] == 3
    assert metrics["bridge_rlds_seen_psnr_copy"] != metrics["bridge_rlds_held_out_psnr_copy"]
    assert iio.imread(tmp_path / "media/r-bridge_rlds.png").shape[0] > 4 * 2 * 64  # four clips, each true and generated
    rows = list(csv.reader((tmp_path / "r.csv").open()))
    assert [row[1] for row in rows] == ["episodes", "seen", "held-out"]
    assert {len(row) for row in rows} == {8}
    before = (tmp_path / "runs/bridge_rlds-seed-0/state.pt").stat().st_mtime_ns
    assert main(line) == 0
    assert (tmp_path / "runs/bridge_rlds-seed-0/state.pt").stat().st_mtime_ns == before
    assert json.loads((tmp_path / "r.json").read_text())["metrics"] == metrics
    held = tmp_path / "runs/data/bridge_rlds"
    asked = ["--checkpoint", tmp_path / "runs/bridge_rlds-seed-0/checkpoint", "--dataset", held / "val", "--also"]
    for protocol, more, count in (("long", [], "episodes"), ("short", ["--frames", 9, "--stride", 10], "windows")):
        more += ["--no-distributions"] if protocol == "short" else ["--guidance", 2]
        words = ["evaluate", protocol, *asked, held / "test", *more, "--json", tmp_path / f"{protocol}.json"]
        assert main([str(word) for word in words]) == 0
        written = json.loads((tmp_path / f"{protocol}.json").read_text())
        assert written["metrics"][count]["value"] == written["metrics"][count]["n"] == 4  # two episodes of each
        assert written["notes"]["episodes"]["from"] == "val, test"
        assert written["notes"]["settings"]["chunk" if protocol == "long" else "frames"] == 9
        assert written["notes"]["settings"].get("guidance") == (2 if protocol == "long" else None)


def test_unknown_robot(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["study", "robots", "--robots", "hubo", "--out", str(tmp_path)]) == 2
    assert "robot 'hubo' is unknown; the robots are bridge_v2, bridge_rlds, " in capsys.readouterr().err
