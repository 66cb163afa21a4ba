"""What values an option takes: a table of rules by name, and one sentence for a value that does not follow its rule.

A rule turns a value into its plain Python form or raises `ValueError`, and its text completes "... but must be".
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from world_model.errors import DataError, InputError

LONGEST = 80  # characters of a value that are shown


class Rule(Protocol):
    """A callable from values to their plain form."""

    def __call__(self, value: Any) -> Any:
        """Raises ValueError for a value that does not follow the rule."""


@dataclass(frozen=True)
class Whole:
    """An integer, NumPy's too; a bool is none."""

    low: int
    high: int

    def __call__(self, value: Any) -> int:
        if isinstance(value, (int, np.integer)) and not isinstance(value, bool) and self.low <= value <= self.high:
            return int(value)
        raise ValueError

    def __str__(self) -> str:
        return f"a whole number from {self.low} to {self.high}"


@dataclass(frozen=True)
class Number:
    """A real number, NumPy's too; NaN and bools are none."""

    low: float
    high: float

    def __call__(self, value: Any) -> float:
        real = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
        if real and self.low <= value <= self.high:
            return float(value)
        raise ValueError

    def __str__(self) -> str:
        return f"a number from {self.low:g} to {self.high:g}"


@dataclass(frozen=True)
class Is:
    """A value of some types, made ``plain``."""

    types: tuple[type, ...]
    words: str
    plain: Callable[[Any], Any] = lambda value: value

    def __call__(self, value: Any) -> Any:
        if isinstance(value, self.types):
            return self.plain(value)
        raise ValueError

    def __str__(self) -> str:
        return self.words


FLAG = Is((bool, np.bool_), "True or False", bool)
TEXT = Is((str,), "text", str)
PATH = Is((str, Path), "a path", Path)
NONE = Is((type(None),), "None")


@dataclass(frozen=True)
class Choice:
    """One of some values."""

    options: tuple[Any, ...]

    def __call__(self, value: Any) -> Any:
        return self.options[self.options.index(value)]

    def __str__(self) -> str:
        return f"one of {', '.join(map(str, self.options))}"


@dataclass(frozen=True)
class Member:
    """A member of an enumeration of texts, or its value."""

    kind: type[Enum]

    def __call__(self, value: Any) -> Enum:
        if isinstance(value, (str, self.kind)):
            return self.kind(value)
        raise ValueError

    def __str__(self) -> str:
        return f"one of {', '.join(str(member.value) for member in self.kind)}"


@dataclass(frozen=True)
class Several:
    """A list, tuple or array of ``least`` items and more, ``count`` if that is given."""

    item: Rule
    count: int | None = None
    least: int = 1

    def __call__(self, value: Any) -> tuple[Any, ...]:
        if not isinstance(value, (list, tuple, np.ndarray)) or (isinstance(value, np.ndarray) and not value.ndim):
            raise ValueError
        if len(value) < self.least or self.count not in (None, len(value)):
            raise ValueError
        return tuple(self.item(each) for each in value)

    def __str__(self) -> str:
        return f"a list of {self.count or f'{self.least} or more'}, each {self.item}"


@dataclass(frozen=True)
class Either:
    """The first of two rules that a value follows."""

    first: Rule
    second: Rule

    def __call__(self, value: Any) -> Any:
        try:
            return self.first(value)
        except ValueError:
            return self.second(value)

    def __str__(self) -> str:
        return f"{self.first}, or {self.second}"


def or_none(rule: Rule) -> Either:
    """The rule, or None."""
    return Either(rule, NONE)


def follow(rule: Rule, name: str, value: Any) -> Any:
    """``value`` in its plain form.

    Raises:
        InputError: it does not follow the rule.
    """
    try:
        return rule(value)
    except ValueError:
        raise InputError(f"{name} is {shown(value)} but must be {rule}") from None


def follow_all(rules: Mapping[str, Rule], values: Mapping[str, Any]) -> dict[str, Any]:
    """The values that have a rule, in their plain forms, None for those that are missing (errors as `follow`)."""
    return {name: follow(rule, name, values.get(name)) for name, rule in rules.items()}


def settle(config: Any, rules: Mapping[str, Rule]) -> None:
    """Bring the fields of a frozen dataclass into their plain forms, in its ``__post_init__`` (errors as `follow`)."""
    for name, value in follow_all(rules, vars(config)).items():
        object.__setattr__(config, name, value)


def refuse_unknown(names: Iterable[str], known: Iterable[str], what: str = "option") -> None:
    """Raise `InputError` for the first name that is not known."""
    known = tuple(known)
    for name in names:
        if name not in known:
            raise InputError(f"{what} {shown(name)} is unknown; the {what}s are {', '.join(known)}")


def field_names(config: Any) -> tuple[str, ...]:
    """Names of the fields of a dataclass or of one of its objects."""
    return tuple(field.name for field in dataclasses.fields(config))


def array_of(name: str, value: Any) -> NDArray[Any]:
    """``value`` as an array of real numbers; texts, objects and bools are none.

    Raises:
        InputError: it is something else, or lists of uneven length.
    """
    try:
        array = np.asarray(value)
    except (ValueError, TypeError, RuntimeError) as error:  # uneven lists; tensors that need gradients or lie elsewhere
        raise InputError(f"{name} cannot be made an array ({error}); give a NumPy array of numbers") from error
    if array.dtype.kind not in "iuf":
        raise InputError(f"{name} hold {array.dtype} such as {shown(value)} but must hold numbers; give a NumPy array")
    return array


def check_saved(
    arrays: Mapping[str, NDArray[Any]], like: Mapping[str, NDArray[Any]], count: int, nan: tuple[str, ...] = ()
) -> None:
    """Refuse saved arrays that differ in form from ``like``, or hold what no environment writes.

    Args:
        like: arrays of which the type, and the shape without the first axis, are right.
        count: length of the first axis.
        nan: names of arrays in which NaN has a meaning.

    Raises:
        DataError: one is missing, of another type or shape, not finite, or a negative whole number.
    """
    for name, right in like.items():
        if name not in arrays:
            raise DataError(f"the saved state lacks {name!r}; take a new snapshot")
        array, shape = np.asarray(arrays[name]), (count, *right.shape[1:])
        if array.dtype != right.dtype or array.shape != shape:
            raise DataError(
                f"the saved {name!r} is {array.dtype} {array.shape} but must be {right.dtype} {shape}; "
                "it is damaged, take a new snapshot"
            )
        kind = array.dtype.kind
        if (kind == "f" and name not in nan and not np.isfinite(array).all()) or (kind == "i" and (array < 0).any()):
            raise DataError(f"the saved {name!r} holds NaN, infinity or a negative number; take a new snapshot")


def shown(value: Any) -> str:
    """``repr`` in one line of limited length."""
    text = " ".join(repr(value).split())
    return text if len(text) <= LONGEST else text[: LONGEST - 4] + " ..."
