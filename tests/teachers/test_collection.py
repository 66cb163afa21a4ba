"""Recording in parallel: killed at any moment and run again it ends as if nothing had happened."""

import fcntl
import filecmp
import itertools
import math
import os
import random
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("gym_pusht")

from teachers.collection import Job, Shard, collect, plan_shards
from teachers.pusht.recording import PushTRecorder
from world_model.data.lerobot.reader import read_dataset
from world_model.errors import DataError, InputError

JOB = Job("pusht", "validation", 3, 2000, {"size": 32}, episodes_per_shard=1)
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
    for more in (0, 2, 1, 3, 2):  # some kills come before anything new is done
        process = start(out)
        deadline = time.monotonic() + 100
        while whole_shards(out) < finished + more and time.monotonic() < deadline:
            time.sleep(0.005)
        time.sleep(generator.uniform(0, 0.1 if more else 1.0))
        assert process.poll() is None, "it came to its end before it could be killed"
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
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
    assert process.poll() is None
    workers = [c for c in children(process.pid) if b"spawn_main" in Path(f"/proc/{c}/cmdline").read_bytes()]
    os.kill(workers[0], signal.SIGKILL)
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
        (Job("pusht", "train", 3, 2000, {"size": 32}, 1), "split 'validation', not 'train'"),
        (Job("pusht", "validation", 4, 2000, {"size": 32}, 1), "seed 3, not 4"),
        (Job("pusht", "validation", 3, 2000, {"size": 64}, 1), "size 32, not 64"),
        (Job("pusht", "validation", 3, 5000, {"size": 32}, 1), "frames 2000, not 5000"),
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


@pytest.mark.parametrize(
    ("job", "message"),
    [
        (Job("pusht", "train", 0, 0, {}), "at least 1 frame and 1 worker, not 0 and 1"),
        (Job("pusht", "train", 0, -5, {}), "not -5 and 1"),
        (Job("pusht", "train", 0, None, {}, episodes=0), "at least 1 episode"),
        (Job("pusht", "train", 0, 10, {}, episodes=10), "10 frames and 10 episodes"),
        (Job("pusht", "train", 0, None, {}), "None frames and None episodes"),
        (Job("pusht", "train", -1, 10, {}), "seed is -1"),
        (Job("pusht", "tomorrow", 0, 10, {}), "no split 'tomorrow'"),
        (Job("chess", "train", 0, 10, {}), "'chess'"),
        (Job("pusht", "train", 0, 10, {"size": 0}), "size"),
        (Job("pusht", "train", 0, 10, {"goal": (math.nan, 0.0, 0.0)}), "goal"),
        (Job("pusht", "train", 0, 10, {"look": "nice"}), "look"),
        (Job("pusht", "train", 0, 10, {"behaviours": ("dance",)}), "'dance'"),
        (Job("pusht", "train", 0, 10, {"suite": "libero_goal"}), "Push-T has no option 'suite'"),
    ],
)
def test_bad_settings_are_refused_before_anything_is_written(tmp_path, job, message):
    with pytest.raises(InputError, match=re.escape(message)):
        collect(job, tmp_path / "a", 1, lambda done, total: None)
    assert list(tmp_path.iterdir()) == []


def test_places_that_cannot_be_written_to_are_refused(tmp_path):
    (tmp_path / "file").write_text("mine")
    for out in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(InputError, match="cannot be written to"):
            collect(JOB, out, 1, lambda done, total: None)
    assert (tmp_path / "file").read_text() == "mine"


def test_a_lock_that_its_owner_has_just_removed_counts_for_nothing(tmp_path, monkeypatch):
    real = fcntl.flock

    def late(file, kind):  # the owner ends, and removes its file, between our open and our lock
        (tmp_path / "data" / ".lock").unlink()
        real(file, kind)

    monkeypatch.setattr(fcntl, "flock", late)
    with pytest.raises(InputError, match="run the command again"):
        collect(JOB, tmp_path / "data", 1, lambda done, total: None)


@dataclass(frozen=True)
class BlindJob(Job):
    """Push-T whose lengths are said to be unknown, as LIBERO's are."""

    def recorder(self):
        recorder = super().recorder()
        recorder.length = lambda index: None
        return recorder


def test_lengths_that_only_recording_tells_give_the_same_data_set_for_any_workers_and_after_kills(tmp_path):
    job = BlindJob("pusht", "validation", 3, 900, {"size": 32}, episodes_per_shard=2)
    seen = []
    collect(job, tmp_path / "one", 1, lambda done, total: seen.append((done, total)))
    dataset = read_dataset(tmp_path / "one")
    assert dataset.total_frames >= 900 > dataset.total_frames - sum(dataset.lengths[-2:])
    assert len(dataset) % 2 == 0
    assert seen[-1] == (dataset.total_frames, 900)
    first = np.concatenate([[0], np.cumsum(dataset.lengths)])
    for number in range(len(dataset)):
        columns = dataset.columns(number)
        assert columns["index"].tolist() == list(range(first[number], first[number + 1]))

    class Enough(Exception):
        pass

    def stop(done, total):
        if done > 300:
            raise Enough

    with pytest.raises(Enough):
        collect(job, tmp_path / "two", 2, stop)
    collect(job, tmp_path / "two", 2, lambda done, total: None)
    assert files(tmp_path / "two") == files(tmp_path / "one")
    names = files(tmp_path / "one")
    assert filecmp.cmpfiles(tmp_path / "one", tmp_path / "two", names, shallow=False)[0] == names


def test_episodes_can_be_counted_instead_of_frames(tmp_path):
    seen = []
    job = replace(JOB, frames=None, episodes=3, episodes_per_shard=2)
    collect(job, tmp_path / "data", 1, lambda done, total: seen.append((done, total)))
    assert seen == [(0, 3), (2, 3), (3, 3)]
    assert len(read_dataset(tmp_path / "data")) == 3


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
