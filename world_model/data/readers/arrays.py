"""Arrays in npz files, looked at before they are read."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from world_model.data.lerobot.video import require_real_file
from world_model.data.readers.base import LARGEST, LONGEST


def array_shapes(path: Path) -> dict[str, tuple[tuple[int, ...], np.dtype[Any]]]:
    """Shape and type of every array of an npz file, from the headers alone; absurd ones raise ValueError."""
    require_real_file(path)
    found = {}
    with zipfile.ZipFile(path) as archive:
        for member in archive.namelist():
            with archive.open(member) as file:
                version = np.lib.format.read_magic(file)
                read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
                shape, _, dtype = read[version](file)
            if dtype.hasobject or any(n > LONGEST for n in shape) or np.prod(shape, dtype=float) > LARGEST:
                raise ValueError(f"{member} is {dtype} {shape}")
            found[member.removesuffix(".npy")] = (shape, dtype)
    return found


def read_array(path: Path, name: str) -> NDArray[Any]:
    """One array of an npz file; one that is not there, absurd or pickled raises KeyError or ValueError."""
    if name not in array_shapes(path):
        raise KeyError(f"no array {name!r}")
    with np.load(path) as file:
        return np.asarray(file[name])
