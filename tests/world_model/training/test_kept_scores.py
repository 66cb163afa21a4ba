"""Scores are measured once for some settings, and files that are none are named."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from world_model.errors import DataError
from world_model.training.kept_scores import kept_scores


def test_measured_once_for_the_same_settings(tmp_path: Path) -> None:
    file, calls = tmp_path / "new/a.npz", []

    def make() -> dict[str, np.ndarray]:
        calls.append(1)
        return {"psnr": np.array([30.25, 1 / 3])}

    for _ in range(2):
        np.testing.assert_array_equal(kept_scores(file, {"minutes": 2, "set": ["a"]}, make)["psnr"], [30.25, 1 / 3])
    assert len(calls) == 1
    with pytest.raises(DataError, match=r'"minutes": 2.*not of.*"minutes": 3'):
        kept_scores(file, {"minutes": 3, "set": ["a"]}, make)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 cut off", b"plain text"])
def test_what_is_no_scores_file(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "a.npz"
    file.write_bytes(content)
    with pytest.raises(DataError, match=r"holds no scores of a study .* delete it"):
        kept_scores(file, {}, dict)
