"""The evaluating and head-training commands on an untrained checkpoint and a few recorded episodes."""

import csv
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

from simforcing_env.commands.main import main
from teachers.pusht.physics import PushTState
from teachers.pusht.recording import PushTRecorder
from teachers.pusht.starts import centre_of
from teachers.pusht.teacher import PushTTeacher
from tests.world_model.untrained import untrained_pusht
from world_model.checkpoint import open_folder
from world_model.data.episode import Episode
from world_model.data.lerobot.reader import read_dataset
from world_model.data.lerobot.shard import ShardWriter
from world_model.data.lerobot.writer import DatasetWriter
from world_model.pretrained import LearnedSimulator
from world_model.results import read_results

pytest.importorskip("matplotlib")
SMALL = ("--split", "validation", "--episodes", "4")


def simforcing(*arguments: object) -> int:
    return main([str(a) for a in arguments])


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("checkpoint") / "untrained"
    untrained_pusht().save_pretrained(folder)
    return folder


def ends_success(angle: float) -> Episode:
    """The pusher comes from one side and pushes the block off its goal."""
    teacher, way = PushTTeacher(), 150 * np.array([np.cos(angle), np.sin(angle)])
    x, y = centre_of(teacher.goal) + way
    seen = teacher.reset_to_state(PushTState(float(x), float(y), *teacher.goal))
    frames, places, labels = [seen.frames["top"]], [seen.proprio], [teacher.labels()]
    for step in range(40):
        seen = teacher.step((centre_of(teacher.goal) + way * (1 - step / 30))[None]).observation
        frames.append(seen.frames["top"])
        places.append(seen.proprio)
        labels.append(teacher.labels())
    return Episode(
        np.stack(frames),
        np.stack(places),
        np.zeros((40, 1, 2), np.float32),
        np.zeros((41, 8), np.float32),
        {name: np.array([one[name] for one in labels], np.float32) for name in labels[0]},
    )


def write(folder: Path, recorder: PushTRecorder, episodes: Iterable[Episode]) -> Path:
    writer, work = DatasetWriter(folder, recorder.spec), folder / "work"
    work.mkdir()
    with ShardWriter(work, recorder.spec, shard=0, first_episode=0) as shard:
        for episode in episodes:
            shard.add(episode)
    writer.commit(work)
    writer.write_stats()
    return folder


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    recorder = PushTRecorder("validation", 0)
    return write(tmp_path_factory.mktemp("data"), recorder, map(recorder.record, range(4)))


@pytest.fixture(scope="module")
def successes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    recorder = PushTRecorder("validation", 0)
    return write(tmp_path_factory.mktemp("successes"), recorder, map(ends_success, (0.0, 2.0, 4.0)))


def test_video(checkpoint: Path, dataset: Path, tmp_path: Path) -> None:
    target = tmp_path / "pusht-video.json"
    data = ("--dataset", dataset, "--clips-per-episode", 1)
    assert simforcing("evaluate", "video", "--checkpoint", checkpoint, *SMALL, *data, "--json", target) == 0
    record = read_results(target)
    wanted = "psnr_h1 psnr_h8 psnr_h16 psnr_h32 psnr_copy_h16 psnr_moving_gain_h16 ssim_h16 agent_px_h16 block_px_h16 "
    wanted += "block_deg_h16 psnr_h16_one_frame block_px_h16_one_frame reader_px reader_deg shuffle_gap_db "
    wanted += "zero_gap_db best_shift"
    assert set(wanted.split()) <= set(record["metrics"])
    assert record["checkpoint"] == open_folder(checkpoint).hash
    assert record["sampler_steps"] == 1
    assert record["metrics"]["psnr_h16"].n == 4
    assert record["metrics"]["reader_px"].value < 3
    files = {p.relative_to(tmp_path).as_posix() for p in tmp_path.rglob("*.*")}
    assert files == {
        "pusht-video.json",
        "pusht-video-metrics.csv",
        "pusht-video-clips.csv",
        "pusht-video-curves.csv",
        "media/pusht-video.png",
        "media/pusht-video-curves.png",
    }
    with (tmp_path / "pusht-video-clips.csv").open() as file:
        assert len(list(csv.DictReader(file))) == 4


def test_coverage_records_its_own_episodes(checkpoint: Path, tmp_path: Path) -> None:
    target = tmp_path / "pusht-coverage.json"
    assert simforcing("evaluate", "coverage", "--checkpoint", checkpoint, *SMALL, "--frames", 4, "--json", target) == 0
    metrics = read_results(target)["metrics"]
    assert {"pearson_copy", "mae", "n"} <= set(metrics)
    assert "pearson" not in metrics  # untrained heads say the same of every frame: there is no correlation
    assert metrics["n"].value == 4
    assert (tmp_path / "media/pusht-coverage.png").is_file()
    with (tmp_path / "pusht-coverage-starts.csv").open() as file:
        starts = [row["start"] for row in csv.DictReader(file)]
    assert all(800_000 <= int(s.split("-")[1]) < 900_000 for s in starts)


def test_heads_are_trained_into_a_checkpoint_and_judged(
    checkpoint: Path, dataset: Path, successes: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trained = tmp_path / "trained"
    data = ("--dataset", dataset, "--held-out", dataset, "--out", trained)
    short = ("--scenes", 50, "--training.steps", 5, "--training.batch", 16, "--generated-clips", 6)
    assert simforcing("train", "heads", "--checkpoint", checkpoint, *data, *short) == 0
    printed = capsys.readouterr().out
    assert printed.count("| coverage in 0 to 1 |") == 2
    assert "held-out generated frames" in printed
    before, after = LearnedSimulator.from_pretrained(checkpoint), LearnedSimulator.from_pretrained(trained)
    assert after.heads.config.width == 32
    assert after.starts is not None
    for a, b in zip(before.model.parameters(), after.model.parameters(), strict=True):
        assert (a == b).all()
    target = tmp_path / "pusht-calibration.json"
    more = ("--dataset", successes, "--frames", 8, "--json", target)
    assert simforcing("evaluate", "calibration", "--checkpoint", trained, *more) == 0
    metrics = read_results(target)["metrics"]
    assert {"brier_true", "brier_generated", "auroc_true", "auroc_generated"} <= set(metrics)
    assert "success_pose_brier_true" in metrics
    assert (tmp_path / "media/pusht-calibration-mistakes.html").is_file()


def test_mistakes_are_one_sentence(
    checkpoint: Path, dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bare = untrained_pusht()
    bare.heads = None
    bare.save_pretrained(tmp_path / "bare")
    longest = int(read_dataset(dataset).lengths.max())
    cases = {
        "train heads": ("--checkpoint", tmp_path / "bare"),
        "leave out it or --dataset": ("--checkpoint", checkpoint, "--dataset", dataset, "--near-share", 0.5),
        f"1 episode has {longest} frames": ("--checkpoint", checkpoint, "--dataset", dataset, "--frames", longest - 3),
        "at least 1": ("--checkpoint", checkpoint, "--sampler-steps", 0),
        "from 0 to 1": ("--checkpoint", checkpoint, "--near-share", 2),
        "--dataset": ("--checkpoint", checkpoint, "--episodes", 0),
    }
    for expected, options in cases.items():
        assert simforcing("evaluate", "coverage", *options) == 2
        lines = capsys.readouterr().err.splitlines()
        assert len(lines) == 1
        assert lines[0].startswith("simforcing: ")
        assert expected in lines[0]


def test_pack_takes_the_starts_of_a_data_set(checkpoint: Path, dataset: Path, tmp_path: Path) -> None:
    """First frames as they were recorded, as many as asked for."""
    out = tmp_path / "packed"
    assert simforcing("pack", "--checkpoint", checkpoint, "--out", out, "--starts-of", dataset, "--starts-each", 3) == 0
    starts, data = LearnedSimulator.from_pretrained(out).starts, read_dataset(dataset)
    assert starts is not None
    assert list(starts.names) == data.starts[:3]
    np.testing.assert_array_equal(starts.frames[2], data[2].frames[0])
    np.testing.assert_array_equal(starts.proprio[2], data[2].proprio[0])
