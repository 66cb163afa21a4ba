"""PSNR and SSIM against numbers worked out by hand and against torchmetrics."""

import math

import numpy as np
import pytest
import torch

from world_model.errors import InputError
from world_model.metrics.image import grey, psnr, psnr_grey, ssim, ssim_grey


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


def test_grey_pictures_are_those_of_opencv():
    cv2 = pytest.importorskip("cv2")
    levels = np.arange(0, 256, 5, dtype=np.uint8)
    colours = np.stack(np.meshgrid(levels, levels, levels, indexing="ij"), -1).reshape(1, -1, 3)
    np.testing.assert_array_equal(grey(colours), cv2.cvtColor(colours, cv2.COLOR_RGB2GRAY))


def test_grey_psnr_counts_luma_only():
    a = np.zeros((1, 8, 8, 3), np.uint8)
    b = a.copy()
    b[..., 1] = 100  # luma 58.7, rounded to 59
    assert psnr_grey(a, b)[0] == pytest.approx(20 * math.log10(255 / 59), rel=1e-6)
    assert psnr_grey(a, a)[0] == 60.0
    assert psnr(a, b)[0] == pytest.approx(10 * math.log10(255**2 * 3 / 100**2), rel=1e-6)


def test_grey_ssim_of_one_window_by_hand():
    """7 x 7 pixels are one window: two columns of 100 on black, against the same moved by one column."""
    a, b = (np.zeros((1, 7, 7, 3), np.uint8) for _ in range(2))
    a[:, :, :2], b[:, :, 1:3] = 100, 100
    mean = 100 * 14 / 49
    unbiased = 49 / 48
    variance = unbiased * (100**2 * 14 / 49 - mean**2)
    both = unbiased * (100**2 * 7 / 49 - mean**2)
    c2 = (0.03 * 255) ** 2
    assert ssim_grey(a, b)[0] == pytest.approx((2 * both + c2) / (2 * variance + c2), rel=1e-9)
    assert ssim_grey(a, a)[0] == pytest.approx(1.0)


def test_grey_ssim_is_that_of_scikit_image():
    """Stored value of skimage 0.26's structural_similarity on the same two grey pictures."""
    generator = np.random.default_rng(0)
    a = generator.integers(0, 256, (2, 64, 64, 3), dtype=np.uint8)
    b = np.clip(a.astype(int) + generator.integers(-30, 31, a.shape), 0, 255).astype(np.uint8)
    np.testing.assert_allclose(ssim_grey(a, b), [0.9729197414305145, 0.9726899599358404], rtol=1e-9)
    np.testing.assert_allclose(psnr_grey(a, b), [27.022186770293658, 26.944248037889217], rtol=1e-7)
