"""The learned codec: starts as PCA, gets better than it, keeps its latents normalised."""

import torch
from torch import Tensor

from world_model.codecs import ConvConfig, ConvFit, PcaConfig, fit_conv, fit_pca
from world_model.codecs.conv import ConvCodec


def _error(codec: torch.nn.Module, frames: Tensor) -> float:
    return float(((codec.decode(codec.encode(frames)) - frames / 255) ** 2).mean())


def test_training_starts_at_pca_and_beats_it(frames: Tensor, held_out: Tensor) -> None:
    pca = fit_pca(frames, PcaConfig(4, 6))
    seen: list[tuple[float, float]] = []
    codec = fit_conv(
        frames,
        ConvConfig(patch=4, channels=6, width=24),
        ConvFit(steps=200, noise=0.0),
        torch.Generator().manual_seed(0),
        lambda part, loss: seen.append((part, loss)),
    )
    assert abs(seen[0][1] - _error(pca, frames)) < 0.25 * _error(pca, frames)  # one batch of 32
    assert seen[-1][0] == 1.0
    assert [p for p, _ in seen] == sorted(p for p, _ in seen)
    assert _error(codec, held_out) < 0.7 * _error(pca, held_out)
    latents = codec.encode(held_out)
    assert latents.shape == (60, 6, 8, 8)
    deviation = latents.movedim(1, -1).reshape(-1, 6).std(0)
    assert 0.9 < deviation.max() < 1.1
    assert not any(p.requires_grad for p in codec.parameters())


def test_leading_axes(frames: Tensor) -> None:
    codec = ConvCodec(ConvConfig(patch=8, channels=5, width=8)).requires_grad_(False)
    latents = codec.encode(frames[:6].reshape(2, 3, 32, 32, 3))
    assert latents.shape == (2, 3, 5, 4, 4)
    assert codec.decode(latents).shape == (2, 3, 32, 32, 3)
    torch.testing.assert_close(latents[1, 0], codec.encode(frames[3]), atol=1e-5, rtol=0)
