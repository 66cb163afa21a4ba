"""Space-to-depth and PCA: exactness, the definition of PCA, and scales that do not blow noise up."""

import numpy as np
import pytest
import torch
from torch import Tensor

from world_model.codecs import (
    PcaConfig,
    SpaceToDepth,
    SpaceToDepthConfig,
    fit_pca,
    fit_space_to_depth,
)
from world_model.codecs.frames import from_patches, to_patches
from world_model.errors import InputError
from world_model.interface import to_uint8


def _error(codec: torch.nn.Module, frames: Tensor) -> float:
    return float(((codec.decode(codec.encode(frames)) - frames / 255) ** 2).mean())


def test_patches_are_rows_columns_colours() -> None:
    frames = torch.arange(2 * 4 * 6 * 3, dtype=torch.int16).reshape(2, 4, 6, 3)
    patches = to_patches(frames, 2)
    assert patches.shape == (2, 2, 3, 12)
    assert torch.equal(patches[1, 1, 2].reshape(2, 2, 3), frames[1, 2:4, 4:6])
    assert torch.equal(from_patches(patches, 2), frames)


@pytest.mark.parametrize("patch", [2, 4, 8])
def test_space_to_depth_loses_nothing(frames: Tensor, patch: int) -> None:
    codec = fit_space_to_depth(frames, SpaceToDepthConfig(patch))
    noise = torch.randint(0, 256, (3, 2, 32, 32, 3), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    latents = codec.encode(noise)
    assert latents.shape == (3, 2, codec.latent_channels, 32 // patch, 32 // patch)
    assert torch.equal(to_uint8(codec.decode(latents)), noise)
    own = codec.encode(frames)
    assert own.mean().abs() < 1e-4
    assert own.movedim(1, -1).reshape(-1, codec.latent_channels).std(0).max() <= 1.001


def test_pca_is_the_best_linear_projection(frames: Tensor, held_out: Tensor) -> None:
    codec = fit_pca(frames, PcaConfig(patch=4, channels=10))
    rows = to_patches(held_out, 4).reshape(-1, 48).double().numpy() / 255
    train = to_patches(frames, 4).reshape(-1, 48).double().numpy() / 255
    mean = train.mean(0)
    _, deviations, axes = np.linalg.svd(train - mean, full_matrices=False)
    by_hand = (rows - mean) @ axes[:10].T @ axes[:10] + mean
    ours = to_patches(codec.decode(codec.encode(held_out)), 4).reshape(-1, 48).numpy()
    np.testing.assert_allclose(ours, by_hand, atol=1e-5)
    np.testing.assert_allclose(
        codec.scale.numpy(), np.maximum(deviations[:10], 0.1 * deviations[0]) / np.sqrt(len(train)), rtol=1e-4
    )


def test_more_channels_are_better_and_all_are_exact(frames: Tensor, held_out: Tensor) -> None:
    errors = [_error(fit_pca(frames, PcaConfig(4, k)), held_out) for k in (4, 8, 16, 32)]
    assert errors == sorted(errors, reverse=True)
    full = fit_pca(frames, PcaConfig(4, 48))
    assert torch.equal(to_uint8(full.decode(full.encode(held_out))), held_out)


def test_floor_bounds_what_one_grey_level_does(frames: Tensor) -> None:
    codec = fit_pca(frames, PcaConfig(4, 48), floor=0.1)
    assert codec.scale.min() >= 0.0999 * codec.scale.max()
    dark = frames.clamp_max(254)
    change = (codec.encode(dark + 1) - codec.encode(dark)).movedim(1, -1)  # one grey level on every pixel
    assert change.norm(dim=-1).max() <= 48**0.5 / 255 / codec.scale.min() * 1.001


def test_leading_axes_batch_and_single_agree(frames: Tensor) -> None:
    codec = fit_pca(frames, PcaConfig(4, 12))
    batch = codec.encode(frames[:6].reshape(2, 3, 32, 32, 3))
    assert batch.shape == (2, 3, 12, 8, 8)
    single = torch.stack([codec.encode(f) for f in frames[:6]]).reshape(batch.shape)
    torch.testing.assert_close(batch, single, atol=1e-5, rtol=0)
    torch.testing.assert_close(codec.decode(batch)[1, 2], codec.decode(single[1, 2]), atol=1e-5, rtol=0)


def test_constant_frames_fit_without_division_by_zero() -> None:
    white = torch.full((4, 16, 16, 3), 255, dtype=torch.uint8)
    for codec in (fit_pca(white, PcaConfig(4, 8)), fit_space_to_depth(white, SpaceToDepthConfig(4))):
        latents = codec.encode(white)
        assert torch.isfinite(latents).all()
        assert torch.equal(to_uint8(codec.decode(latents)), white)


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (torch.zeros(2, 32, 32, 3), "float32 of shape"),
        (torch.zeros(2, 3, 32, 32, dtype=torch.uint8), r"\(2, 3, 32, 32\)"),
        (torch.zeros(2, 30, 32, 3, dtype=torch.uint8), "30 x 32 pixels .* multiples of 4"),
    ],
)
def test_bad_frames_get_one_sentence(bad: Tensor, words: str) -> None:
    with pytest.raises(InputError, match=words):
        SpaceToDepth(SpaceToDepthConfig(4)).encode(bad)


def test_foreign_latents_and_impossible_channels_are_refused(frames: Tensor) -> None:
    with pytest.raises(InputError, match=r"takes \(\.\.\., 48, U, V\)"):
        SpaceToDepth(SpaceToDepthConfig(4)).decode(torch.zeros(1, 12, 8, 8))
    with pytest.raises(InputError, match="channels 49; patches of 4 give 1 to 48"):
        fit_pca(frames, PcaConfig(4, 49))
