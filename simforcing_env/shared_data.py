"""The folder of real recordings that some measurements are made on."""

from __future__ import annotations

import os
from pathlib import Path

from world_model.errors import DataError


def shared_folder(given: Path | None) -> Path:
    """The given folder, or the one that SIMFORCING_SHARED_DATA names.

    Raises:
        DataError: it is not there.
    """
    named = os.environ.get("SIMFORCING_SHARED_DATA")
    shared = given or (Path(named) if named else None)
    if shared is None or not shared.is_dir():
        raise DataError(f"the folder of real data is {shared}; give --shared or set SIMFORCING_SHARED_DATA")
    return shared
