"""``simforcing doctor`` as a real child process, on a data set that is written, corrupted and read again."""

import dataclasses
import json
import subprocess
import sys

import numpy as np
import pytest

from teachers.pusht.recording import PushTRecorder
from world_model.data.lerobot.layout import DatasetSpec
from world_model.data.lerobot.shard import ShardWriter
from world_model.data.lerobot.writer import DatasetWriter


def doctor(*arguments):
    command = [sys.executable, "-m", "simforcing_env.commands.main", "doctor", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


@pytest.fixture(scope="module")
def recorded():
    recorder = PushTRecorder("validation", seed=3)
    return recorder.teacher, [recorder.record(index) for index in range(8)]


def write(folder, recorded, change=lambda episode: {}):
    teacher, episodes = recorded
    spec = DatasetSpec(teacher.contract, teacher.state_names, teacher.label_names, ("push the T to its goal",))
    writer, work = DatasetWriter(folder, spec), folder / "work"
    work.mkdir(parents=True)
    with ShardWriter(work, spec, shard=0, first_episode=0) as shard:
        for episode in episodes:
            shard.add(dataclasses.replace(episode, **change(episode)))
    writer.commit(work)
    return folder


def test_a_clean_data_set_has_no_fault(tmp_path, recorded):
    report = tmp_path / "report.json"
    done = doctor("--dataset", write(tmp_path / "clean", recorded), "--json", report)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("0 faults\n")
    assert "warning" not in done.stdout
    (findings,) = json.loads(report.read_text()).values()
    assert {f["status"] for f in findings} == {"ok"}
    assert "image orientation" in {f["check"] for f in findings}


def test_a_data_set_without_a_contract_is_checked_under_a_given_one(tmp_path, recorded):
    folder = write(tmp_path / "foreign", recorded)
    file = (folder / "meta" / "contract.json").rename(tmp_path / "contract.json")
    assert doctor("--dataset", folder).returncode == 2
    for contract in ("pusht", file):
        done = doctor("--dataset", folder, "--contract", contract)
        assert done.returncode == 0, done.stdout + done.stderr
    done = doctor("--dataset", folder, "--contract", "push-t")
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert "known are pusht" in done.stderr


CORRUPTIONS = {
    "flipped": (lambda e: {"frames": np.ascontiguousarray(e.frames[:, ::-1])}, "image orientation", "upside down"),
    "late": (lambda e: {"actions": np.roll(e.actions, 1, axis=0)}, "action shift", "one frame late"),
    "mirrored axis": (
        lambda e: {"actions": np.float32([512, 0]) + e.actions * np.float32([-1, 1])},
        "action sign",
        "x",
    ),
    "normalised": (lambda e: {"actions": e.actions / 256 - 1}, "action range", "normalised already"),
}


@pytest.mark.parametrize("name", CORRUPTIONS)
def test_a_corrupt_data_set_is_told_with_its_mend(tmp_path, recorded, name):
    change, check, words = CORRUPTIONS[name]
    done = doctor("--dataset", write(tmp_path / "corrupt", recorded, change))
    assert done.returncode == 1, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == f"1 fault: {check}"
    mend = done.stdout.split(f"fault    {check}")[1].splitlines()[1]
    assert mend.strip().startswith("-> ")
    assert words in mend


def test_the_machine_report_runs():
    done = doctor()
    assert "Traceback" not in done.stderr
    assert done.returncode in (0, 1)  # 1 where the weights are not in the package
    for word in ("versions", "bf16", "threads", "Push-T drawing", "[libero]", "shipped weights"):
        assert word in done.stdout


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--dataset", "/no/such/folder"), "/no/such/folder"),
        (("--checkpoint", "no-such-model"), "there is no checkpoint 'no-such-model'"),
    ],
)
def test_what_is_not_there_gets_one_sentence(arguments, sentence):
    done = doctor(*arguments)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert len(done.stderr.splitlines()) == 1
