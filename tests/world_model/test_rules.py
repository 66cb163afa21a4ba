"""Rules of options: what is taken, in which form, and the one sentence for the rest."""

from dataclasses import dataclass
from enum import Enum
from pathlib import Path

import numpy as np
import pytest
import torch

from world_model.errors import InputError
from world_model.rules import (
    FLAG,
    PATH,
    TEXT,
    Choice,
    Member,
    Number,
    Several,
    Whole,
    array_of,
    follow,
    or_none,
    refuse_unknown,
    settle,
    shown,
)


class Colour(Enum):
    RED = "red"


@pytest.mark.parametrize(
    ("rule", "value", "plain"),
    [
        (Whole(1, 9), np.int64(9), 9),
        (Number(0, 1), 1, 1.0),
        (Number(0, 1), np.float32(0.5), 0.5),
        (FLAG, np.bool_(True), True),
        (TEXT, np.str_("a"), "a"),
        (PATH, "a/b", Path("a/b")),
        (Choice(("a", "b")), "b", "b"),
        (Member(Colour), "red", Colour.RED),
        (Member(Colour), Colour.RED, Colour.RED),
        (Several(Whole(0, 9)), np.array([1, 2]), (1, 2)),
        (Several(TEXT, least=0), [], ()),
        (or_none(TEXT), None, None),
        (or_none(TEXT), "x", "x"),
    ],
)
def test_values_come_back_plain(rule, value, plain):
    found = follow(rule, "it", value)
    assert found == plain
    assert type(found) is type(plain)


JUNK = [None, "x", b"x", 1j, [None], {}, object(), float("nan"), np.zeros((2, 2)), np.datetime64("NaT"), 10**30, -1]


@pytest.mark.parametrize("rule", [Whole(1, 9), Number(0, 1), FLAG, Choice(("a", "b")), Member(Colour)])
@pytest.mark.parametrize("value", JUNK)
def test_anything_else_is_refused_in_one_line(rule, value):
    with pytest.raises(InputError, match=r"^it is .* but must be ") as error:
        follow(rule, "it", value)
    assert str(rule) in str(error.value)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 200


@pytest.mark.parametrize(
    ("rule", "value"),
    [(Whole(0, 9), True), (Number(0, 9), False), (Several(TEXT), "ab"), (Several(TEXT), []), (Several(TEXT, 2), ["a"])],
)
def test_near_misses(rule, value):
    with pytest.raises(InputError):
        follow(rule, "it", value)


def test_a_frozen_config_settles_itself():
    @dataclass(frozen=True)
    class Config:
        count: int = 3

        def __post_init__(self):
            settle(self, {"count": Whole(1, 5)})

    assert type(Config(np.int32(4)).count) is int
    with pytest.raises(InputError, match="count is 6 but must be a whole number from 1 to 5"):
        Config(6)


@pytest.mark.parametrize(
    "value", ["12", ["1", "2"], [1j], [True], [None], [object()], [[1], [1, 2]], torch.zeros(2, requires_grad=True), {}]
)
def test_arrays_hold_numbers(value):
    with pytest.raises(InputError, match=r"^actions "):
        array_of("actions", value)


def test_arrays_are_not_copied():
    values = np.zeros(3, np.float32)
    assert array_of("actions", values) is values
    assert array_of("actions", [1, 2]).tolist() == [1, 2]


def test_unknown_names_and_long_values():
    with pytest.raises(InputError, match="option 'chnk' is unknown; the options are chunk, history"):
        refuse_unknown(["chunk", "chnk"], ["chunk", "history"])
    assert len(shown("x" * 1000)) == 80
    assert "\n" not in shown(np.zeros((3, 3)))
