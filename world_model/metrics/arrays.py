"""Weights that other packages ship as a pickle of NumPy arrays, read without running anything of it.

Two locks: the file must have the SHA-256 that is known of it, and while it is read nothing but arrays can come to be.
"""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from world_model.checkpoint import sha256
from world_model.errors import DataError

_RECONSTRUCT = np.zeros(1).__reduce__()[0]  # the function that makes an array again, wherever this NumPy keeps it
_ALLOWED = {
    ("numpy.core.multiarray", "_reconstruct"): _RECONSTRUCT,
    ("numpy._core.multiarray", "_reconstruct"): _RECONSTRUCT,
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
}


class _ArraysOnly(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        try:
            return _ALLOWED[module, name]
        except KeyError:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}") from None


def read_arrays(path: Path, digest: str) -> dict[str, NDArray[Any]]:
    """Arrays of nested mappings by their path, such as ``params/Conv_0/kernel``.

    Raises:
        DataError: absent, another SHA-256 than ``digest``, or anything but mappings of arrays.
    """
    if not path.is_file():
        raise DataError(f"there is no file {path}; check the path")
    if (found := sha256(path)) != digest:
        raise DataError(f"{path} has SHA-256 {found[:16]}, not the published {digest[:16]}; fetch it again")
    return unpack_arrays(path)


def unpack_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """As `read_arrays`, of any file: nothing but arrays comes out of it, whatever it holds."""
    try:
        with path.open("rb") as file:
            nested = _ArraysOnly(file).load()
    except (pickle.UnpicklingError, EOFError, ValueError, TypeError, IndexError, KeyError, AttributeError) as error:
        raise DataError(f"{path} is not a pickle of NumPy arrays alone ({error}); give the published file") from error
    found: dict[str, NDArray[Any]] = {}
    _flatten(nested, "", found, path)
    return found


def _flatten(value: Any, name: str, found: dict[str, NDArray[Any]], path: Path) -> None:
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        found[name] = value
    elif isinstance(value, dict) and all(isinstance(key, str) for key in value):
        for key, inner in value.items():
            _flatten(inner, f"{name}/{key}" if name else key, found, path)
    else:
        raise DataError(f"{path} holds a {type(value).__name__} at {name!r}, not an array; give the published file")
