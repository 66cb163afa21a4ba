"""PSNR and SSIM against numbers worked out by hand and against torchmetrics."""

import math

import numpy as np
import pytest
import torch

from world_model.errors import InputError
from world_model.metrics.image import psnr, ssim


def test_psnr_of_a_known_difference():
    black = np.zeros((2, 8, 8, 3), np.uint8)
    other = black.copy()
    other[0] += 5  # every value off by 5: mean square 25
    other[1, :4] = 10  # half of the values off by 10: mean square 50
    wanted = [20 * math.log10(255 / 5), 10 * math.log10(255**2 / 50)]
    np.testing.assert_allclose(psnr(black, other), wanted, rtol=1e-6)


def test_psnr_of_equal_frames_is_the_cap_and_leading_axes_broadcast():
    frame = np.full((1, 8, 8, 3), 200, np.uint8)
    clip = np.stack([frame[0], frame[0] - 1])[None]
    values = psnr(frame[:, None], clip)
    assert values.shape == (1, 2)
    assert values[0, 0] == 60.0
    assert values[0, 1] == pytest.approx(20 * math.log10(255))


def test_ssim_is_one_for_equal_frames_and_known_for_flat_ones():
    a, b = np.full((1, 16, 16, 3), 100, np.uint8), np.full((1, 16, 16, 3), 50, np.uint8)
    assert ssim(a, a) == pytest.approx(1.0)
    c1 = (0.01 * 255) ** 2  # flat frames have no structure term: only the means differ
    assert ssim(a, b)[0] == pytest.approx((2 * 100 * 50 + c1) / (100**2 + 50**2 + c1), rel=1e-9)


def test_ssim_equals_torchmetrics():
    reference = pytest.importorskip("torchmetrics.functional.image")
    generator = np.random.default_rng(0)
    a = generator.integers(0, 256, (3, 32, 40, 3), dtype=np.uint8)
    b = np.clip(a.astype(int) + generator.integers(-40, 41, a.shape), 0, 255).astype(np.uint8)
    x, y = (torch.from_numpy(v).double().permute(0, 3, 1, 2) for v in (a, b))
    _, full = reference.structural_similarity_index_measure(
        x, y, data_range=255.0, reduction="none", return_full_image=True
    )
    # torchmetrics reflects at the border; windows that lie wholly inside the picture are the same ones.
    np.testing.assert_allclose(ssim(a, b), full[..., 5:-5, 5:-5].mean(dim=(1, 2, 3)), atol=1e-7)


def test_float_frames_and_different_sizes_are_refused():
    frame = np.zeros((8, 8, 3), np.uint8)
    with pytest.raises(InputError, match="float32"):
        psnr(frame, frame.astype(np.float32))
    with pytest.raises(InputError, match="one size"):
        psnr(frame, np.zeros((9, 8, 3), np.uint8))
    with pytest.raises(InputError, match="at least 11"):
        ssim(frame, frame)
