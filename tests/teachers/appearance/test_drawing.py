"""Appearances: a function of their seed, within their ranges, kept as JSON; patterns and optics."""

import dataclasses
import json

import numpy as np
import pytest

from teachers.appearance.appearance import Appearance, Optics, Surface
from teachers.appearance.drawing import Ranges, draw_appearance
from teachers.appearance.optics import expose
from teachers.appearance.patterns import PATTERNS, paint
from world_model.errors import DataError

CLEAR = Optics(gain=1, gamma=1, balance=(1, 1, 1), vignette=0, blur=0, noise=0, shot=0)


def test_the_seed_decides_everything():
    assert draw_appearance(3) == draw_appearance(3)
    drawn = [draw_appearance(seed).to_dict() for seed in range(20)]
    for name in drawn[0]:
        values = {json.dumps(one[name]) for one in drawn}
        assert len(values) > (2 if name == "distractors" else 15), name


def test_ranges_are_kept():
    narrow = Ranges(friction=(0.9, 0.9), damping=(1.1, 1.1), distractors=0, view_shift=0.0)
    for seed in range(5):
        drawn = draw_appearance(seed, narrow)
        assert (drawn.friction, drawn.damping, drawn.distractors) == (0.9, 1.1, ())
        assert drawn.views[0].shift == (0, 0, 0)


def test_a_drawn_appearance_survives_json():
    drawn = draw_appearance(8)
    assert Appearance.from_dict(json.loads(json.dumps(drawn.to_dict()))) == drawn
    values = drawn.to_dict()
    del values["friction"]
    with pytest.raises(DataError, match="appearance is not readable"):
        Appearance.from_dict(values)
    with pytest.raises(DataError, match="mood"):
        Appearance.from_dict({**drawn.to_dict(), "optics": {**drawn.to_dict()["optics"], "mood": 1}})


@pytest.mark.parametrize("name", PATTERNS)
def test_patterns_are_bounded_and_differ_by_seed(name):
    one, same, other = (PATTERNS[name](np.random.default_rng(s), 60, 90, 0.07) for s in (1, 1, 2))
    assert one.shape == (60, 90)
    assert np.abs(one).max() <= 1.0
    assert np.ptp(one) > 0.5
    assert np.array_equal(one, same)
    assert name == "checks" or not np.array_equal(one, other)


def test_paint_covers_and_keeps_alpha():
    plain = np.random.default_rng(0).integers(0, 255, (16, 20, 4), np.uint8)
    whole = Surface((0.2, 0.4, 0.6), 1.0, "clouds", 0.1, 0.0, 1)
    assert np.array_equal(paint(plain, whole)[..., :3], np.broadcast_to([51, 102, 153], (16, 20, 3)))
    assert np.array_equal(paint(plain, whole)[..., 3], plain[..., 3])
    nothing = dataclasses.replace(whole, cover=0.0)
    assert np.array_equal(paint(plain, nothing), plain)


def test_optics_by_hand():
    picture = np.full((8, 8, 3), 100, np.uint8)
    quiet = np.random.default_rng(0)
    assert np.array_equal(expose(picture, CLEAR, quiet), picture)
    brighter = expose(picture, dataclasses.replace(CLEAR, gain=1.5, balance=(1, 2, 0.5)), quiet)
    assert brighter[0, 0].tolist() == [150, 255, 75]
    dark = expose(picture, dataclasses.replace(CLEAR, gamma=2.0), quiet)
    assert dark[3, 3, 0] == round(255 * (100 / 255) ** 2)
    corner = expose(picture, dataclasses.replace(CLEAR, vignette=0.5), quiet)
    assert (corner[0, 0, 0], corner[0, 0, 0] < corner[3, 3, 0]) == (50, True)
    noise = dataclasses.replace(CLEAR, noise=3.0)
    large = np.full((100, 100, 3), 100, np.uint8)
    noisy = expose(large, noise, np.random.default_rng(5))
    assert noisy.std() == pytest.approx(3.0, abs=0.2)
    assert np.array_equal(noisy, expose(large, noise, np.random.default_rng(5)))
