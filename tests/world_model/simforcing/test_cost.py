"""Passes of each mode, and operations against numbers by hand."""

from __future__ import annotations

import pytest
import torch

pytest.importorskip("diffusers")

from tests.world_model.models.wan.tiny import GRID, SETTINGS, tiny
from world_model.models.wan.student import WanForcing, WanForcingConfig
from world_model.simforcing.cost import MODES, Mode, Operations, operations


def test_passes_are_those_of_the_published_code() -> None:
    """20 steps: 40 passes at weight 1, 60 between, 20 where nothing is told."""
    assert {name: sum(mode.passes(20)) for name, mode in MODES.items()} == {
        "w0": 20,
        "student_w06": 60,
        "student_w1": 40,
        "teacher_w06": 40,
        "teacher_w1": 20,
    }
    assert Mode("student", 0.6).passes(20) == (40, 20)
    assert Operations(5, 100, 110).of(Mode("student", 0.6), 20) == 3 * 5 + 40 * 100 + 20 * 110


def test_operations_of_a_tiny_network_by_hand() -> None:
    with torch.device("meta"):
        student = WanForcing(WanForcingConfig(video=tiny(told_proprio=0)))
    found = operations(student, GRID)
    width, depth, places, frames, words, ffn, text = 24, 2, 6, 3, 3, SETTINGS["ffn_dim"], 10
    tokens = places * frames
    linear = tokens * (4 * width**2 + 2 * width**2 + 2 * width * ffn) + 2 * words * width**2
    seen = (places + 8) * places + (tokens + 8) * (tokens - places)  # 8 actions
    attention = 2 * (seen + tokens * words) * width
    ends = tokens * (4 * 4 * width * 2) + frames * (8 * width + width**2 + 6 * width**2)
    assert found.plain == 2 * (depth * (linear + attention) + ends)
    assert found.told - found.plain == 2 * depth * tokens * 4 * 4 * width
    assert found.actions > 2 * words * (text * width + width**2)


def test_the_published_size_takes_under_four_teraflop_a_pass() -> None:
    with torch.device("meta"):
        student = WanForcing(WanForcingConfig())
    found = operations(student, (14, 20), 128)
    assert found.plain == pytest.approx(3.7e12, rel=0.1)
    assert found.told == pytest.approx(found.plain + 2 * 420 * 17.7e6, rel=1e-3)
