"""What "auto" means where the processor computes in bfloat16 and where not; results say what was computed in."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from simforcing_env.commands.study_options import StudyOptions
from world_model.results import Metric, read_results
from world_model.runtime import Runtime, native_precision


@pytest.mark.parametrize(("has", "native"), [(True, "bfloat16"), (False, "float32")])
def test_auto_is_what_the_processor_computes_in(monkeypatch: pytest.MonkeyPatch, has: bool, native: str) -> None:
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: has)
    assert native_precision("cpu") == Runtime.choose("cpu").precision == native


@pytest.mark.parametrize(
    ("has", "sets", "told"),
    [
        (True, (), "bfloat16"),
        (False, (), "float32"),
        (True, ("train.batch=2", "train.precision=no"), "float32"),
        (False, ("train.precision=bf16",), "bfloat16"),
    ],
)
def test_studies_say_what_they_trained_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has: bool, sets: tuple[str, ...], told: str
) -> None:
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: has)
    file = tmp_path / "s.json"
    StudyOptions(out=tmp_path, set=sets, json=file).finish({"psnr": Metric(30.0)}, None, 1, (0, 4))
    written = read_results(file)
    assert written["device"]["dtype"] == told
    assert written["seeds"] == [0, 4]
