"""The machine report on this machine, and its verdicts on measured numbers of others."""

import pytest

from simforcing_env.doctor.finding import faults, report
from simforcing_env.doctor.machine import bf16_finding, check_machine, threads_finding
from simforcing_env.doctor.rendering import probe
from simforcing_env.doctor.weights import check_weights
from world_model.checkpoint import writing_folder
from world_model.extras import EXTRAS


def test_this_machine_is_described_without_faults():
    findings = check_machine()
    assert faults(findings) == [], report("", findings)
    found = {finding.check: finding for finding in findings}
    assert {f"[{extra}]" for extra in EXTRAS} <= set(found)
    for check, word in {"system": "Python", "versions": "torch", "processor": "cores", "bf16": "GFLOP/s"}.items():
        assert word in found[check].text
    assert found["Push-T drawing"].status == "ok"
    for finding in findings:
        assert finding.mend or finding.status in ("ok", "note"), finding


@pytest.mark.parametrize(("fp32", "bf16", "status"), [(90.0, 380.0, "ok"), (90.0, 95.0, "note"), (90.0, 3.0, "note")])
def test_bf16_is_judged_by_measurement(fp32, bf16, status):
    finding = bf16_finding(fp32, bf16)
    assert finding.status == status
    assert ("float32" in finding.mend) if status == "note" else ("bfloat16" in finding.text), finding


@pytest.mark.parametrize(
    ("facts", "status", "words"),
    [
        ((1, 1.0, 9.0, 2, False), "ok", ""),
        ((2, 0.6, 0.2, 2, False), "ok", ""),
        ((2, 0.9, 1.5, 2, True), "ok", ""),
        ((2, 0.9, 1.5, 2, False), "warning", "OMP_NUM_THREADS=1"),
        ((2, 30.0, 0.0, 2, True), "warning", "OMP_NUM_THREADS=1"),
        ((8, 1.0, 0.0, 2, False), "warning", "OMP_NUM_THREADS=2"),
    ],
    ids=["one thread", "idle", "passive", "loaded", "waits", "too many"],
)
def test_the_thread_trap_is_noticed(facts, status, words):
    finding = threads_finding(*facts)
    assert finding.status == status
    assert words in finding.mend


def test_a_backend_that_kills_its_process_is_told():
    works, said = probe("import os; os.abort()")
    assert not works
    assert said == "ended with status -6"
    works, said = probe("raise RuntimeError('no display')")
    assert (works, said) == (False, "RuntimeError: no display")
    assert probe("print('it draws')") == (True, "it draws")


def test_weights_are_held_against_their_manifest(tmp_path):
    assert faults(check_weights(tmp_path / "absent")) == ["weights"]
    with writing_folder(tmp_path / "a-net") as folder:
        (folder / "config.json").write_text('{"a": 1}')
    finding = check_weights(tmp_path)[0]
    assert (finding.check, finding.status) == ("a-net", "ok")
    (tmp_path / "a-net" / "config.json").write_text('{"a": 2}')
    finding = check_weights(tmp_path)[0]
    assert (finding.check, finding.status) == ("a-net", "fault")
    assert "config.json" in finding.text
