"""Small convolutional autoencoder: a linear codec plus learned corrections that see neighbouring patches."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from world_model.codecs.base import CodecModule
from world_model.codecs.frames import check_frames, check_latents, from_patches, statistics, to_patches
from world_model.codecs.pca import PcaConfig, fit_pca

_STATISTICS_FRAMES = 2048


@dataclass(frozen=True)
class ConvConfig:
    """Shape of the autoencoder."""

    patch: int = 4
    """Pixels per latent cell and side."""
    channels: int = 12
    """Latent channels."""
    width: int = 48
    """Hidden channels of the corrections."""
    blocks: int = 1
    """Residual blocks in each of encoder and decoder."""


@dataclass(frozen=True)
class ConvFit:
    """How `fit_conv` trains."""

    minutes: float = 5.0
    """Time budget."""
    steps: int | None = None
    """End after this many steps, if the time is not over before."""
    batch: int = 32
    """Frames a step."""
    learning_rate: float = 2e-3
    """Peak of a cosine schedule over the time budget."""
    noise: float = 0.02
    """Noise added to latents, in parts of their deviation, so that near-by latents decode alike."""
    floor: float = 0.1
    """Smallest latent scale as a part of the largest."""


class _Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(width, width, 3, padding=1)
        self.second = nn.Conv2d(width, width, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        change: Tensor = self.second(functional.silu(self.first(functional.silu(x))))
        return x + change


class _Corrected(nn.Module):
    """``linear(x) + net(x)`` on ``(N, in, U, V)``; the net starts at zero."""

    def __init__(self, inputs: int, outputs: int, config: ConvConfig) -> None:
        super().__init__()
        self.linear = nn.Conv2d(inputs, outputs, 1)
        self.stem = nn.Conv2d(inputs, config.width, 3, padding=1)
        self.blocks = nn.Sequential(*(_Block(config.width) for _ in range(config.blocks)))
        self.head = nn.Conv2d(config.width, outputs, 1)
        nn.init.zeros_(self.head.weight)
        nn.init.zeros_(self.head.bias)  # type: ignore[arg-type]  # bias is on by default

    def forward(self, x: Tensor) -> Tensor:
        corrected: Tensor = self.linear(x) + self.head(functional.silu(self.blocks(self.stem(x))))
        return corrected


class ConvCodec(CodecModule):
    """Autoencoder of small frames; see `interface.Codec`."""

    mean: Tensor  # (C,) of the raw latents
    scale: Tensor  # (C,)

    def __init__(self, config: ConvConfig) -> None:
        super().__init__()
        self.config = config
        self.latent_channels = config.channels
        self.downsample = config.patch
        size = config.patch**2 * 3
        self.encoder = _Corrected(size, config.channels, config)
        self.decoder = _Corrected(config.channels, size, config)
        self.register_buffer("mean", torch.zeros(config.channels))
        self.register_buffer("scale", torch.ones(config.channels))

    def encode(self, frames: Tensor) -> Tensor:
        """``(..., H, W, 3)`` uint8 to ``(..., C, U, V)`` float32."""
        check_frames(frames, self.downsample)
        lead = frames.shape[:-3]
        raw = self.raw(frames.reshape(-1, *frames.shape[-3:]))
        latents = (raw - self.mean[:, None, None]) / self.scale[:, None, None]
        return latents.reshape(*lead, *latents.shape[1:])

    def decode(self, latents: Tensor) -> Tensor:
        """``(..., C, U, V)`` to ``(..., H, W, 3)`` float32 in [0, 1] (not clipped, not rounded)."""
        check_latents(latents, self.latent_channels)
        lead = latents.shape[:-3]
        raw = latents.reshape(-1, *latents.shape[-3:]).float() * self.scale[:, None, None] + self.mean[:, None, None]
        frames = self.pixels(raw)
        return frames.reshape(*lead, *frames.shape[1:])

    def raw(self, frames: Tensor) -> Tensor:
        """``(N, H, W, 3)`` uint8 to unnormalised latents ``(N, C, U, V)``."""
        latents: Tensor = self.encoder(to_patches(frames, self.downsample).movedim(-1, 1).float() / 255)
        return latents

    def pixels(self, raw: Tensor) -> Tensor:
        """Unnormalised latents ``(N, C, U, V)`` to ``(N, H, W, 3)`` in [0, 1]."""
        return from_patches(self.decoder(raw).movedim(1, -1), self.downsample)


def fit_conv(
    frames: Tensor,
    config: ConvConfig,
    fit: ConvFit,
    generator: torch.Generator,
    progress: Callable[[float, float], None] = lambda part, loss: None,
) -> ConvCodec:
    """Train on ``(N, H, W, 3)`` uint8 frames for a budget of time or steps, from the PCA solution onwards.

    ``progress`` is told the part of the budget that is gone and the last mean squared error.
    """
    codec = _from_pca(frames, config, generator)
    deviation = codec.scale[:, None, None].clone()
    optimizer = torch.optim.AdamW(codec.parameters(), lr=fit.learning_rate, weight_decay=0.0)
    start, part, step = time.monotonic(), 0.0, 0
    while part < 1:
        optimizer.param_groups[0]["lr"] = fit.learning_rate * 0.5 * (1 + math.cos(math.pi * part))
        batch = frames[torch.randint(len(frames), (fit.batch,), generator=generator)]
        raw = codec.raw(batch)
        noise = torch.randn(raw.shape, generator=generator) * deviation * fit.noise
        loss = functional.mse_loss(codec.pixels(raw + noise), batch.float() / 255)
        optimizer.zero_grad()
        torch.autograd.backward(loss)
        nn.utils.clip_grad_norm_(codec.parameters(), 0.05)
        optimizer.step()
        step += 1
        part = min(1.0, max((time.monotonic() - start) / (60 * fit.minutes), step / (fit.steps or math.inf)))
        progress(part, loss.item())
    return _normalized(codec, frames, fit.floor)


def _from_pca(frames: Tensor, config: ConvConfig, generator: torch.Generator) -> ConvCodec:
    """A codec that equals PCA; its raw latents are pixels times an orthonormal basis."""
    pca = fit_pca(frames, PcaConfig(config.patch, config.channels), floor=0.0)
    codec = ConvCodec(config)
    for name, parameter in codec.named_parameters():
        if parameter.ndim == 4 and not name.endswith(("linear.weight", "head.weight")):
            fan_in = parameter[0].numel()
            parameter.data.copy_(torch.randn(parameter.shape, generator=generator) / fan_in**0.5)
        elif parameter.ndim == 1:
            parameter.data.zero_()
    with torch.no_grad():
        codec.encoder.linear.weight.copy_(pca.basis.mT[:, :, None, None])
        codec.encoder.linear.bias.copy_(-pca.mean @ pca.basis)  # type: ignore[union-attr]
        codec.decoder.linear.weight.copy_(pca.basis[:, :, None, None])
        codec.decoder.linear.bias.copy_(pca.mean)  # type: ignore[union-attr]
    codec.scale.copy_(pca.scale)
    return codec


@torch.no_grad()
def _normalized(codec: ConvCodec, frames: Tensor, floor: float) -> ConvCodec:
    stride = max(1, len(frames) // _STATISTICS_FRAMES)
    raw = torch.cat([codec.raw(batch) for batch in torch.split(frames[::stride], 64)])
    mean, scale = statistics(raw.movedim(1, -1).reshape(-1, codec.latent_channels), floor)
    codec.mean.copy_(mean)
    codec.scale.copy_(scale)
    return codec.eval().requires_grad_(False)
