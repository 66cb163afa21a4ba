"""Measures of codecs, against numbers by hand."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from world_model.codecs import CodecModule, SpaceToDepth, SpaceToDepthConfig
from world_model.codecs.candidates import candidates, has_taef2
from world_model.codecs.measure import EXACT_DB, Quality, parameters, pareto, quality, speed


class Offset(CodecModule):
    """Brightens the first of the frames it is given by 3 grey levels and leaves the others."""

    latent_channels = 3
    downsample = 1

    def encode(self, frames: Tensor) -> Tensor:
        raised = frames.movedim(-1, 1).float()
        raised[0] += 3
        return raised

    def decode(self, latents: Tensor) -> Tensor:
        return latents.movedim(1, -1) / 255


def test_psnr_by_hand() -> None:
    frames = torch.full((3, 8, 8, 3), 100, dtype=torch.uint8)
    found = quality(Offset(), frames)
    np.testing.assert_allclose(found.psnr, [20 * np.log10(255 / 3), EXACT_DB, EXACT_DB])
    assert found.largest_error == 3
    assert Quality(np.arange(101.0), 0).worst == 1.0


def test_rounding_to_8_bits_counts_as_exact(frames: Tensor) -> None:
    codec = SpaceToDepth(SpaceToDepthConfig(4))
    found = quality(codec, frames[:130], batch=64)
    assert found.psnr.shape == (130,)
    assert found.largest_error == 0
    assert (found.psnr == EXACT_DB).all()
    assert parameters(codec) == 2 * 48
    times = speed(codec, frames[:10], seconds=0.01)
    assert 0 < times.encode < 1000
    assert 0 < times.decode < 1000


@pytest.mark.parametrize(
    ("rows", "best"),
    [
        ([[1, 2], [2, 1], [2, 2]], [True, True, False]),
        ([[1, 1], [1, 1]], [True, True]),
        ([[1, 1], [1, 2], [0, 3]], [True, False, True]),
        ([[5, 5]], [True]),
    ],
)
def test_pareto_by_hand(rows: list[list[float]], best: list[bool]) -> None:
    assert pareto(rows) == best


def test_taef2_is_a_candidate_where_its_files_are(tmp_path: Path) -> None:
    assert not has_taef2(tmp_path)
    without = [c.name for c in candidates(1.0, 0, None)]
    assert len(set(without)) == len(without) >= 3
    assert [c.name for c in candidates(1.0, 0, tmp_path)] == [*without, "taef2"]
