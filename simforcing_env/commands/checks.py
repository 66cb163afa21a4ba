"""What commands refuse before they begin to work: numbers out of range, results that could not be written."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from world_model.atomic import check_writable
from world_model.errors import InputError
from world_model.extras import absent, missing

Numbers = float | Sequence[float] | None


def at_least(least: float, **options: Numbers) -> None:
    """Refuse options below ``least``. None stands for an option that was not given; of several numbers each counts.

    Raises:
        InputError: one is below, or not a number.
    """
    for name, value in _given(options):
        if not value >= least:
            raise InputError(f"{_option(name)} is {value:g} but must be at least {least:g}; raise it")


def above(least: float, **options: Numbers) -> None:
    """As `at_least`, for options that must be more than ``least`` and finite."""
    for name, value in _given(options):
        if not least < value < math.inf:
            raise InputError(f"{_option(name)} is {value:g} but must be a number above {least:g}; correct it")


def share(**options: Numbers) -> None:
    """As `at_least`, for options from 0 to 1."""
    for name, value in _given(options):
        if not 0 <= value <= 1:
            raise InputError(f"{_option(name)} is {value:g} but must be a share from 0 to 1; correct it")


def some(**options: Sequence[object]) -> None:
    """Refuse an option whose list is empty, or that names something twice.

    Raises:
        InputError: it does.
    """
    for name, values in options.items():
        if not values:
            raise InputError(f"{_option(name)} is empty; give at least one, or leave the option out")
        twice = [v for i, v in enumerate(values) if v in values[:i]]
        if twice:
            raise InputError(f"{_option(name)} holds {twice[0]!r} twice; give it once")


def extras(*names: str) -> None:
    """Make sure that the packages of extras are there.

    Raises:
        MissingExtraError: one is not installed.
    """
    for name in names:
        if gone := absent(name):
            raise missing(gone[0], name)


def results_file(path: Path | None, option: str = "--json") -> None:
    """Make sure that a file can be written at ``path``; its folder is made where it is missing.

    Raises:
        InputError: a folder stands there, or nothing can be written beside it.
    """
    if path is None:
        return
    if path.is_dir():
        raise InputError(f"{option} is {path}, which is a folder; give the name of a file in it")
    try:
        check_writable(path.parent)
    except OSError as error:
        raise InputError(
            f"{option} is {path}, where nothing can be written ({error.strerror}); choose another place"
        ) from error


def _given(options: dict[str, Numbers]) -> list[tuple[str, float]]:
    pairs = []
    for name, value in options.items():
        values = () if value is None else value if isinstance(value, Sequence) else (value,)
        pairs += [(name, v) for v in values]
    return pairs


def _option(name: str) -> str:
    """A field's name, with ``__`` for the dot of a nested one, as it is typed."""
    return "--" + name.replace("__", ".").replace("_", "-")
