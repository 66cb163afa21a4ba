"""The whole way of a checkpoint through the commands: collect, train, heads, pack, step."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import gymnasium as gym
import pytest

import simforcing_env  # noqa: F401 (registers the ids)
from simforcing_env.commands.main import main
from simforcing_env.evaluation.kills import SMALL
from world_model.pretrained import LearnedSimulator

pytest.importorskip("gym_pusht", reason="needs the pusht extra")


def simforcing(*words: object) -> None:
    assert main([str(word) for word in words]) == 0


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Data sets, a run and a packed checkpoint."""
    out = tmp_path_factory.mktemp("way")
    for split in ("train", "validation"):
        simforcing("collect", "--out", out / split, "--frames", 300, "--split", split, "--workers", 1)
    data = ["--dataset", out / "train", "--held-out", out / "validation"]
    sets = [word for setting in SMALL for word in ("--set", setting)]
    simforcing("train", *data, "--out", out / "run", "--stop-at", 2, "--device", "cpu", *sets)
    heads = ["--scenes", 0, "--training.steps", 2, "--training.batch", 8]
    simforcing("train", "heads", "--checkpoint", out / "run/checkpoint", *data, "--out", out / "heads", *heads)
    words = ["--heads", out / "heads", "--run-folder", out / "run", "--commands", "made by a test"]
    simforcing(
        "pack", "--checkpoint", out / "run/checkpoint", "--out", out / "packed", "--starts", "seed-1", "near-2", *words
    )
    return out


def test_packed_checkpoint_runs_as_an_environment(folder: Path) -> None:
    env = gym.make("SimForcing/PushT-v0", checkpoint=str(folder / "packed"))
    _, info = env.reset(seed=0)
    assert info["start"] in ("seed-1", "near-2")
    observation, reward, *_ = env.step(env.action_space.sample())
    assert observation["image"].shape == (64, 64, 3)
    assert 0 <= reward <= 1
    env.close()


def test_card_holds_recipe_commands_and_curve(folder: Path) -> None:
    card = (folder / "packed/README.md").read_text()
    for part in ("made by a test", "| steps | 2 |", "psnr_1", "pusht-nano", "| seed | 0 |"):
        assert part in card


def test_starts_are_the_teachers_frames(folder: Path) -> None:
    from teachers.pusht.teacher import PushTTeacher

    starts = LearnedSimulator.from_pretrained(folder / "packed").starts
    assert starts is not None
    teacher = PushTTeacher()
    for name, frame in zip(starts.names, starts.frames, strict=True):
        assert (teacher.reset(name).frames["top"] == frame).all()


def test_second_stage_begins_with_the_weights(folder: Path, tmp_path: Path) -> None:
    data = ["--dataset", folder / "train", "--held-out", folder / "validation"]
    sets = [word for setting in SMALL for word in ("--set", setting)]
    initial = ["--initial", folder / "run/checkpoint", "--stop-at", 0, "--device", "cpu"]
    simforcing("train", *data, "--out", tmp_path / "more", *initial, *sets)
    one, two = (
        LearnedSimulator.from_pretrained(f / "checkpoint").model.state_dict()
        for f in (folder / "run", tmp_path / "more")
    )
    assert all(value.equal(two[name]) for name, value in one.items())


def test_another_configuration_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = ["--dataset", folder / "train", "--held-out", folder / "validation"]
    words = ["train", *data, "--out", folder / "run", "--set", "train.batch=3"]
    assert main([str(w) for w in words]) == 2
    assert "holds a run with train.model.unet" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["codec", "initial"])
def test_another_beginning_is_refused(folder: Path, option: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A run that began without a codec or checkpoint does not go on as if it had begun with one."""
    data = ["--dataset", folder / "train", "--held-out", folder / "validation", "--out", folder / "run"]
    sets = [word for setting in SMALL for word in ("--set", setting)]
    given = {"codec": folder / "run/codec", "initial": folder / "run/checkpoint"}[option]
    assert main([str(w) for w in ["train", *data, *sets, "--device", "cpu", f"--{option}", given]]) == 2
    sentence = capsys.readouterr().err
    assert f"holds a run with given_{option} None (--{option}), not " in sentence
    assert sentence.count("\n") == 1


def test_a_refused_beginning_leaves_the_folder_free(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = ["--dataset", folder / "train", "--held-out", folder / "validation", "--out", tmp_path / "run"]
    sets = [word for setting in SMALL[:-1] for word in ("--set", setting)]  # another size of net
    words = ["train", *data, *sets, "--device", "cpu", "--initial", folder / "run/checkpoint"]
    assert main([str(w) for w in words]) == 2
    assert "use the weights with the config they were saved with" in capsys.readouterr().err
    assert {p.name for p in (tmp_path / "run").iterdir()} <= {".lock"}


def test_the_curve_is_of_the_run_that_made_the_checkpoint(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = LearnedSimulator.from_pretrained(folder / "run/checkpoint")
    next(other.model.parameters()).add_(1)
    other.save_pretrained(tmp_path / "other/checkpoint")
    shutil.copy(folder / "run/log.jsonl", tmp_path / "other")
    words = ["pack", "--checkpoint", str(folder / "run/checkpoint"), "--out", str(tmp_path / "x"), "--run-folder"]
    assert main([*words, str(tmp_path / "other")]) == 2
    assert "is the run of another checkpoint" in capsys.readouterr().err
    shutil.copytree(folder / "run/checkpoint", tmp_path / "same/checkpoint")
    assert main([*words, str(tmp_path / "same")]) == 2
    assert "is no training run, for it holds no log.jsonl" in capsys.readouterr().err
    (tmp_path / "same/log.jsonl").write_text("step 1: fine\n")
    assert main([*words, str(tmp_path / "same")]) == 2
    assert "log.jsonl is not readable as a training log" in capsys.readouterr().err
    (tmp_path / "same/log.jsonl").write_text('{"kind": "train", "step": 1}\n')
    assert main([*words, str(tmp_path / "same")]) == 2
    assert "log.jsonl holds no validation" in capsys.readouterr().err
    assert not (tmp_path / "x").exists()


def test_heads_of_another_codec_are_refused(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = LearnedSimulator.from_pretrained(folder / "heads")
    other.codec.mean += 0.1
    other.save_pretrained(tmp_path / "other")
    words = ["pack", "--checkpoint", folder / "run/checkpoint", "--out", tmp_path / "x", "--heads", tmp_path / "other"]
    assert main([str(w) for w in words]) == 2
    assert "read another codec's latents" in capsys.readouterr().err


def test_log_has_one_json_object_a_line(folder: Path) -> None:
    lines = [json.loads(line) for line in (folder / "run/log.jsonl").read_text().splitlines()]
    assert lines[-1]["kind"] == "validation"


def test_a_folder_in_use_and_other_data_are_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import fcntl

    data = ["--dataset", folder / "train", "--held-out", folder / "validation"]
    sets = [word for setting in SMALL for word in ("--set", setting)]
    words = ["train", *data, "--out", folder / "run", "--stop-at", 2, "--device", "cpu", *sets]
    with open(folder / "run/.lock", "w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        assert main([str(w) for w in words]) == 2
        assert "is in use by another training" in capsys.readouterr().err
    words[2] = folder / "validation"
    assert main([str(w) for w in words]) == 2
    assert "holds a run with data.frames" in capsys.readouterr().err


def test_doctor_and_second_stage_know_packaged_names(folder: Path, tmp_path: Path) -> None:
    """In a process of its own: the names must not depend on what was imported before."""
    import subprocess
    import sys

    command = [sys.executable, "-m", "simforcing_env.commands.main", "doctor", "--checkpoint", "pusht-nano"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
