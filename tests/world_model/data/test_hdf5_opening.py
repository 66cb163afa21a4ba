"""HDF5 files at which the library hangs are refused in time; others open as ever, and are looked through only once."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("h5py")

import h5py

from world_model.data.hdf5_opening import open_hdf5
from world_model.data.readers.registry import open_reader
from world_model.errors import DataError


def whole(path: Path) -> Path:
    with h5py.File(path, "w") as file:
        for name in ("env", "policy"):
            file.create_group(name).attrs["image_format"] = "RGB"  # a text of any length lies in the file's heap
        file["env/again"] = file["env"]  # a circle of links is no hang
        file["policy/actions"] = np.arange(12.0).reshape(4, 3)
        file.create_dataset("env/state", data=np.zeros((64, 3)), chunks=(1, 3))
    return path


def hanging(path: Path) -> Path:
    """The first thing in the heap says that it is free and 0 bytes long: the library steps on by 0 bytes for ever."""
    data = bytearray(whole(path).read_bytes())
    at = data.index(b"GCOL") + 16
    data[at : at + 48] = bytes(48)
    path.write_bytes(data)
    return path


def test_a_file_that_hangs_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = hanging(tmp_path / "a.hdf5")
    with pytest.raises(
        DataError, match=r"a\.hdf5 cannot be read: its structure leads .* in circles \(no answer in 1 s\)"
    ):
        open_hdf5(path, seconds=1)
    monkeypatch.setattr(open_hdf5, "__defaults__", (1,))
    monkeypatch.setattr(os, "fork", lambda: pytest.fail("looked through twice"))
    with pytest.raises(DataError, match="in circles"):
        open_reader(tmp_path)


def test_a_whole_file_opens_and_is_looked_through_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, fork, forks = whole(tmp_path / "a.hdf5"), os.fork, []
    monkeypatch.setattr(os, "fork", lambda: (forks.append(1), fork())[1])
    for _ in range(3):
        with open_hdf5(path) as file:
            assert file["policy/actions"].shape == (4, 3)
    assert len(forks) == 1
    with h5py.File(path, "a") as file:
        file["more"] = np.zeros(1000)
    with open_hdf5(path) as file:
        assert "more" in file
    assert len(forks) == 2


def test_what_is_no_hdf5_is_told_as_ever(tmp_path: Path) -> None:
    (tmp_path / "a.hdf5").write_bytes(b"no HDF5 at all")
    with pytest.raises(OSError, match="signature"):
        open_hdf5(tmp_path / "a.hdf5")
    with pytest.raises(DataError, match=r"b\.hdf5 is missing"):
        open_hdf5(tmp_path / "b.hdf5")
