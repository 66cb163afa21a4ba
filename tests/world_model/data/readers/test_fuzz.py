"""Damaged real files: a clear sentence or a correct read, never a crash, a hang or a flood of memory."""

import os
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

from world_model.data.readers import fuzz as fuzzing
from world_model.data.readers.fuzz import Sample, fuzz
from world_model.data.readers.mutations import MUTATIONS, mutate
from world_model.data.readers.samples import SAMPLES

FINE = {"same", "other", "clear"}


def wrong(sample, seeds):
    return [o for o in fuzz(sample, seeds, workers=2) if o.kind not in FINE]


@pytest.mark.parametrize("name", SAMPLES)
def test_a_few_mutations(make, name):
    assert wrong(Sample(name, SAMPLES[name][0], make(name)), range(5000, 5006)) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", SAMPLES)
def test_thirty_mutations(make, name):
    assert wrong(Sample(name, SAMPLES[name][0], make(name)), range(6000, 6030)) == []


def test_mutations_are_seeded_and_change_something():
    text = b'{"a": [1, 2, 3], "b": {"c": "d"}}'
    for name in ("x.json", "x.mp4"):
        first, again = (mutate(text, name, np.random.default_rng(3)) for _ in range(2))
        assert first == again
        assert first[1] != text
    kinds = {mutate(text, "x.json", np.random.default_rng(seed))[0] for seed in range(40)}
    assert kinds == set(MUTATIONS)


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="needs /proc")
def test_the_work_of_children_counts():
    """As of the one that goes over an HDF5 file first: it may wait for a busy machine while its parent sleeps."""
    parent = subprocess.Popen(["sh", "-c", "(i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done) & wait; exec sleep 60"])
    try:
        seen = set()
        while (used := fuzzing._clock(parent.pid))[0] < 0.05 or used[1]:
            seen.add(used[1])
            time.sleep(0.01)
        assert True in seen
        assert fuzzing._clock(parent.pid)[0] >= 0.05  # still known when the child is gone
    finally:
        parent.kill()
        parent.wait()


@pytest.mark.parametrize(
    ("misdeed", "kind"),
    [
        (lambda folder, layout: os.kill(os.getpid(), signal.SIGKILL), "crash"),
        (lambda folder, layout: time.sleep(60), "hang"),
        (lambda folder, layout: str(np.ones(2**29)), "unclear"),  # 4 GB
        (lambda folder, layout: {}["x"], "unclear"),
        (lambda folder, layout: "another hash", "other"),
    ],
)
def test_misdeeds_are_told_apart(make, monkeypatch, misdeed, kind):
    sample, whole = Sample("rt1", "npz", make("rt1")), fuzzing.digest
    # Only damaged copies lie in a folder of the fuzz's own.
    monkeypatch.setattr(fuzzing, "digest", lambda f, layout: (misdeed if ".fuzz-" in str(f) else whole)(f, layout))
    (outcome,) = fuzz(sample, [0], seconds=2.0)
    assert outcome.kind == kind
