"""Scores of one training, kept apart from its run, so that a study can be gone on with where only they are."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from world_model.atomic import replacing_file
from world_model.errors import DataError

Arrays = dict[str, NDArray[Any]]
SETTINGS = "settings"


def kept_scores(file: Path, settings: Mapping[str, Any], make: Callable[[], Arrays]) -> Arrays:
    """What ``make`` measures, or what an earlier call with these ``settings`` (JSON values) left in ``file``.

    Raises:
        DataError: as `read_kept`.
    """
    if not file.is_file():
        write_kept(file, make(), settings)
    return read_kept(file, settings)


def write_kept(file: Path, scores: Arrays, settings: Mapping[str, Any]) -> None:
    """Write what `read_kept` reads."""
    file.parent.mkdir(parents=True, exist_ok=True)
    told = json.dumps(settings, sort_keys=True)
    with replacing_file(file) as temporary, temporary.open("wb") as handle:
        np.savez_compressed(handle, **scores, **{SETTINGS: told})  # type: ignore[arg-type]  # texts become arrays


def read_kept(file: Path, settings: Mapping[str, Any]) -> Arrays:
    """Scores that were written with these ``settings``.

    Raises:
        DataError: the file holds scores of other settings, or is not such a file.
    """
    told = json.dumps(settings, sort_keys=True)
    try:
        with np.load(file, allow_pickle=False) as stored:
            there = str(stored[SETTINGS])
            found = {name: stored[name] for name in stored.files if name != SETTINGS}
    except (OSError, EOFError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise DataError(f"{file} holds no scores of a study ({error}); delete it to measure again") from error
    if there != told:
        raise DataError(f"{file} holds scores of {there}, not of {told}; give another folder")
    return found
