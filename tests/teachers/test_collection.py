"""Recording in parallel: killed at any moment and run again it ends as if nothing had happened."""

import filecmp
import itertools
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("gym_pusht")

from teachers.collection import Job, Shard, collect, plan_shards
from teachers.pusht.recording import PushTRecorder
from world_model.data.lerobot.reader import read_dataset
from world_model.errors import DataError, InputError

JOB = Job("pusht", "validation", 3, 900, {"size": 32}, episodes_per_shard=1)
CODE = f"""
from pathlib import Path
import sys
from teachers.collection import Job, collect
from world_model.errors import SimforcingError
try:
    collect({JOB!r}, Path(sys.argv[1]), 2, lambda done, total: None)
except SimforcingError as error:
    sys.exit(str(error))
"""


def start(out):
    return subprocess.Popen([sys.executable, "-c", CODE, str(out)], stderr=subprocess.PIPE, text=True)


def files(root):
    return sorted(str(p.relative_to(root)) for p in root.rglob("*") if p.is_file())


def whole_shards(out):
    """Shards that a killed run has finished, in the data set or waiting to be moved there."""
    return len(list(out.glob("meta/episodes/*/*.parquet"))) + len(list(out.glob(".staging/shard-*/episodes.parquet")))


def children(pid):
    return [int(c) for c in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The data set of a run that nobody disturbed, with one worker."""
    out = tmp_path_factory.mktemp("whole") / "data"
    seen = []
    collect(JOB, out, 1, lambda done, total: seen.append((done, total)))
    assert seen[0][0] == 0
    assert seen[-1][0] == seen[-1][1] >= JOB.frames
    return out


def test_the_data_set_is_what_the_recorder_records(whole):
    dataset, recorder = read_dataset(whole), PushTRecorder("validation", 3, {"size": 32})
    assert JOB.frames <= dataset.total_frames < JOB.frames + 101
    for i in range(len(dataset)):
        episode = recorder.record(i)
        assert (dataset[i].frames == episode.frames).all()
        assert (dataset[i].state == episode.state).all()
        assert dataset[i].start == episode.start
    assert [f for f in files(whole) if f.startswith(".")] == []


def test_five_kills_lose_nothing_and_change_nothing(whole, tmp_path):
    out, generator, finished = tmp_path / "data", random.Random(time.time_ns()), 0
    total = whole_shards(whole)
    for kill in range(5):
        process = start(out)
        goal = min(total - 1, finished + kill % 3)  # some kills come before anything new is done
        deadline = time.monotonic() + 60
        while whole_shards(out) < goal and time.monotonic() < deadline:
            time.sleep(0.005)
        time.sleep(generator.uniform(0, 0.4 if kill else 1.5))
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert whole_shards(out) >= finished
        finished = whole_shards(out)
        if (out / "meta" / "info.json").exists():
            opened, truth = read_dataset(out), read_dataset(whole)
            assert all((opened[i].frames == truth[i].frames).all() for i in range(len(opened)))
    done = subprocess.run([sys.executable, "-c", CODE, str(out)], stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert files(out) == files(whole)
    assert filecmp.cmpfiles(out, whole, files(whole), shallow=False)[0] == files(whole)


def test_workers_end_with_their_killed_parent(tmp_path):
    process = start(tmp_path / "data")
    while len(workers := children(process.pid)) < 2:
        time.sleep(0.01)
    time.sleep(1.0)
    process.send_signal(signal.SIGKILL)
    process.wait()
    deadline = time.monotonic() + 20
    while any(os.path.exists(f"/proc/{p}") for p in workers) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(os.path.exists(f"/proc/{p}") for p in workers)


def test_a_killed_worker_gets_one_sentence_and_the_run_goes_on_later(whole, tmp_path):
    out = tmp_path / "data"
    process = start(out)
    while whole_shards(out) < 1 and process.poll() is None:
        time.sleep(0.01)
    for pid in children(process.pid):
        if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes():
            os.kill(pid, signal.SIGKILL)
            break
    _, message = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "run the same command again" in message.splitlines()[-1]
    collect(JOB, out, 2, lambda done, total: None)
    assert filecmp.cmpfiles(out, whole, files(whole), shallow=False)[0] == files(whole)


def test_a_finished_recording_is_left_alone(whole):
    before = {f: (whole / f).stat().st_mtime_ns for f in files(whole) if "chunk-" in f}
    collect(JOB, whole, 2, lambda done, total: None)
    assert before == {f: (whole / f).stat().st_mtime_ns for f in files(whole) if "chunk-" in f}


@pytest.mark.parametrize(
    ("job", "message"),
    [
        (Job("pusht", "train", 3, 900, {"size": 32}, 1), "split 'validation', not 'train'"),
        (Job("pusht", "validation", 4, 900, {"size": 32}, 1), "seed 3, not 4"),
        (Job("pusht", "validation", 3, 900, {"size": 64}, 1), "size 32, not 64"),
        (Job("pusht", "validation", 3, 5000, {"size": 32}, 1), "frames 900, not 5000"),
    ],
)
def test_a_folder_with_other_settings_is_refused(whole, job, message):
    with pytest.raises(DataError, match=message):
        collect(job, whole, 1, lambda done, total: None)


def test_a_folder_of_something_else_is_refused(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(DataError, match="not empty"):
        collect(JOB, tmp_path, 1, lambda done, total: None)
    assert (tmp_path / "thesis.tex").read_text() == "years of work"


def test_two_recordings_into_one_folder_at_once_are_refused(tmp_path):
    process = start(tmp_path / "data")
    while not (tmp_path / "data" / ".staging").exists() and process.poll() is None:
        time.sleep(0.01)
    try:
        with pytest.raises(InputError, match="another process"):
            collect(JOB, tmp_path / "data", 1, lambda done, total: None)
    finally:
        process.kill()
        process.wait()


def test_bad_counts_and_teachers_are_refused(tmp_path):
    with pytest.raises(InputError, match="at least 1"):
        collect(Job("pusht", "train", 0, 0, {}), tmp_path / "a", 1, lambda done, total: None)
    with pytest.raises(InputError, match="'chess'"):
        collect(Job("chess", "train", 0, 10, {}), tmp_path / "b", 1, lambda done, total: None)


def test_shards_cover_the_episodes_without_gaps():
    class Recorder:
        def __init__(self, known):
            self.known = known

        def length(self, index):
            return 10 + index if self.known else None

    job = Job("pusht", "train", 0, 100, {}, episodes_per_shard=3)
    shards, total = plan_shards(Recorder(known=True), job)
    assert list(shards) == [Shard(0, 0, 3), Shard(1, 3, 6), Shard(2, 6, 8)]
    assert total == sum(10 + i for i in range(8))
    shards, total = plan_shards(Recorder(known=False), job)
    assert list(itertools.islice(shards, 3)) == [Shard(0, 0, 3), Shard(1, 3, 6), Shard(2, 6, 9)]
    assert total == 100
    shards, total = plan_shards(Recorder(known=False), replace(job, frames=None, episodes=7))
    assert list(shards) == [Shard(0, 0, 3), Shard(1, 3, 6), Shard(2, 6, 7)]
    assert total == 7


def test_the_command_records_and_says_where(tmp_path):
    out = tmp_path / "set"
    words = [
        "collect",
        "--out",
        str(out),
        "--frames",
        "150",
        "--split",
        "validation",
        "--behaviours",
        "careful",
        "push",
    ]
    code = "import sys; from simforcing_env.commands.main import main; sys.exit(main(sys.argv[1:]))"
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert str(out) in done.stdout
    assert "Traceback" not in done.stderr
    dataset = read_dataset(out)
    assert dataset.total_frames >= 150
    assert set(dataset.behaviours) <= {"careful", "push"}
    assert dataset.contract.cameras[0].height == 64
