"""Windows from data sets and from pairs, and a student trained in two stages from the latter."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.world_model.training.moving_square import STATE, episodes
from tests.world_model.training.tiny_pairs import SMALL, SMALL_KEYS, SPEC, record, record_pairs
from world_model.errors import DataError, InputError
from world_model.models.sim_student import KeyForcing, SimForcing
from world_model.pretrained import LearnedSimulator
from world_model.simforcing import PairClip, PairWindows
from world_model.training.run import start_run
from world_model.training.sources import open_source
from world_model.training.windows import WindowConfig


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return record_pairs(tmp_path_factory.mktemp("pairs"))


def test_sides_give_the_same_moments_in_their_own_looks(pairs: Path) -> None:
    config = WindowConfig(length=4, history=1)
    source = open_source(pairs, "pairs", 3)
    assert source.counts() == {"episodes": 3, "frames": 24}
    windows = source.windows(config, STATE)
    assert isinstance(windows, PairWindows)
    clip = windows.clip(torch.tensor([0, 3]), None)
    assert isinstance(clip, PairClip)
    assert torch.equal(clip.real.actions, clip.sim.actions)
    assert windows.frames.max() == 128
    assert windows.sim.frames.max() == 255
    both = source.pictures(windows)
    assert {128, 255} <= set(both.unique().tolist())
    for side, shade in (("sim", 255), ("real", 128)):
        assert open_source(pairs, side).windows(config, STATE).frames.max() == shade


def test_a_folder_of_another_kind_is_refused(pairs: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds pairs but the recipe is for one data set"):
        open_source(pairs, "")
    with pytest.raises(InputError, match="holds no pairs but the recipe is for the side 'sim'"):
        open_source(record(tmp_path / "plain", 255, episodes(1, 8)), "sim")


def test_several_data_sets_make_one_set_of_windows(pairs: Path, tmp_path: Path) -> None:
    config = WindowConfig(length=4, history=1)
    one, two = (record(tmp_path / str(shade), shade, episodes(2, length)) for shade, length in ((255, 8), (128, 6)))
    source = open_source([one, two], "")
    assert source.counts() == {"episodes": 4, "frames": 28}
    windows = source.windows(config, STATE)
    assert windows.lengths.tolist() == [8, 8, 6, 6]
    assert windows.frames[:16].max() == 255
    assert windows.frames[16:].max() == 128
    assert open_source([one, two], "", 1).counts() == {"episodes": 2, "frames": 14}
    with pytest.raises(InputError, match="holds pairs, which are trained on alone; leave out"):
        open_source([pairs, one], "sim")
    other = record(tmp_path / "other", 255, episodes(2, 8), replace(SPEC, state_names=("a", "b", "c")))
    with pytest.raises(DataError, match="hold different state of their simulators"):
        open_source([one, other], "")


@pytest.mark.parametrize(
    ("recipe", "small", "kind"),
    [("pusht-simforcing-irasim", SMALL, SimForcing), ("pusht-simforcing", SMALL_KEYS, KeyForcing)],
)
def test_two_stages(pairs: Path, tmp_path: Path, recipe: str, small: tuple[str, ...], kind: type) -> None:
    """Stage 2 begins with stage 1's weights, keeps them as its teacher, and opens the condition."""
    places = {"dataset": pairs, "held_out": pairs}
    first = start_run(f"{recipe}-stage1", small, out=tmp_path / "one", **places)
    assert len(first.windows.lengths) == 2
    first.run(stop_at=2)
    first.close()
    stage1 = LearnedSimulator.from_pretrained(tmp_path / "one/checkpoint")

    initial = tmp_path / "one/checkpoint"
    second = start_run(recipe, small, out=tmp_path / "two", initial=initial, **places)
    student = second.plain
    assert isinstance(student, kind)
    before = stage1.model.video.state_dict()
    second.run(stop_at=2)
    second.close()
    assert all(torch.equal(value, before[name]) for name, value in student._teacher[0].state_dict().items())
    assert any(not torch.equal(value, before[name]) for name, value in student.video.state_dict().items())
    assert max(float(layer.weight.detach().abs().max()) for layer in student.told.into.values()) > 0
    logged = [json.loads(line) for line in (tmp_path / "two/log.jsonl").read_text().splitlines()]
    assert any(record["kind"] == "validation" and np.isfinite(record["psnr_1"]) for record in logged)
    reopened = LearnedSimulator.from_pretrained(tmp_path / "two/checkpoint")
    assert isinstance(reopened.model, kind)
