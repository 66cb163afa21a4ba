"""TAEF2: a published tiny autoencoder (8 x 8 pixels to 32 channels) read from its own two weight files."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

from world_model.checkpoint import load_state
from world_model.codecs.base import CodecModule
from world_model.codecs.frames import check_frames, check_latents, statistics
from world_model.errors import DataError

ENCODER_FILE, DECODER_FILE = "taef2_encoder.pth", "taef2_decoder.pth"
_POOL_GROUPS = 4


@dataclass(frozen=True)
class Taef2Config:
    """Layers by name (see `_LAYERS`), as `read_taef2` finds them in the weight files."""

    encoder: tuple[str, ...]
    """Layers from 3 pixel channels to latents."""
    decoder: tuple[str, ...]
    """Layers from latents to 3 pixel channels."""
    channels: int = 32
    """Latent channels."""
    width: int = 64
    """Channels of every hidden layer."""
    pool_width: int = 256
    """Inner channels of the pooled blocks' 1 x 1 pair."""


class _Clamp(nn.Module):
    """Soft limit of latents to (-3, 3)."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.tanh(x / 3) * 3


class _Block(nn.Module):
    """Three 3 x 3 convolutions with a residual; ``pool`` adds a channel-mixing residual before them."""

    def __init__(self, width: int, pool_width: int = 0) -> None:
        super().__init__()
        convs = [nn.Conv2d(width, width, 3, padding=1) for _ in range(3)]
        self.conv = nn.Sequential(convs[0], nn.ReLU(), convs[1], nn.ReLU(), convs[2])
        self.pool = None
        if pool_width:
            self.pool = nn.Sequential(
                nn.Conv2d(width, pool_width, 1, bias=False),
                nn.GroupNorm(_POOL_GROUPS, pool_width),
                nn.ReLU(),
                nn.Conv2d(pool_width, width, 1, bias=False),
            )

    def forward(self, x: Tensor) -> Tensor:
        if self.pool is not None:
            x = x + self.pool(x)
        return functional.relu(self.conv(x) + x)


class Taef2Codec(CodecModule):
    """The autoencoder with its latents normalised per channel; see `interface.Codec`."""

    mean: Tensor  # (C,) of the published latents
    scale: Tensor  # (C,)

    def __init__(self, config: Taef2Config) -> None:
        super().__init__()
        self.config = config
        self.latent_channels = config.channels
        self.downsample = 2 ** config.encoder.count("down")
        self.encoder = _stack(config.encoder, 3, config.channels, config)
        self.decoder = _stack(config.decoder, config.channels, 3, config)
        self.register_buffer("mean", torch.zeros(config.channels))
        self.register_buffer("scale", torch.ones(config.channels))

    def encode(self, frames: Tensor) -> Tensor:
        """``(..., H, W, 3)`` uint8 to ``(..., C, U, V)`` float32."""
        check_frames(frames, self.downsample)
        lead = frames.shape[:-3]
        images = frames.reshape(-1, *frames.shape[-3:]).movedim(-1, 1).to(self.mean.dtype) / 255
        latents: Tensor = (self.encoder(images) - self.mean[:, None, None]) / self.scale[:, None, None]
        return latents.reshape(*lead, *latents.shape[1:]).float()

    def decode(self, latents: Tensor) -> Tensor:
        """``(..., C, U, V)`` to ``(..., H, W, 3)`` float32 in [0, 1] (not clipped, not rounded)."""
        check_latents(latents, self.latent_channels)
        lead = latents.shape[:-3]
        flat = latents.reshape(-1, *latents.shape[-3:]).to(self.mean.dtype)
        images: Tensor = self.decoder(flat * self.scale[:, None, None] + self.mean[:, None, None])
        return images.movedim(1, -1).reshape(*lead, *images.shape[-2:], 3).float()


def read_taef2(folder: Path | str) -> Taef2Codec:
    """Build the codec from ``taef2_encoder.pth`` and ``taef2_decoder.pth``, with unnormalised latents.

    Raises:
        DataError: a file is absent, is not a plain state dict, or has layers of another network.
    """
    encoder, decoder = (_read(Path(folder) / name) for name in (ENCODER_FILE, DECODER_FILE))
    try:
        config = Taef2Config(
            encoder=_layers(encoder),
            decoder=_layers(decoder),
            channels=decoder["1.weight"].shape[1],
            width=decoder["1.weight"].shape[0],
            pool_width=next(v.shape[0] for k, v in decoder.items() if k.endswith("pool.0.weight")),
        )
    except (KeyError, StopIteration, ValueError) as error:
        raise DataError(f"{folder} does not hold the layers of TAEF2 ({error}); fetch its two files again") from error
    codec = Taef2Codec(config)
    load_state(codec.encoder, encoder, Path(folder) / ENCODER_FILE)
    load_state(codec.decoder, decoder, Path(folder) / DECODER_FILE)
    return codec.eval().requires_grad_(False)


@torch.no_grad()
def fit_taef2(codec: Taef2Codec, frames: Tensor, floor: float = 0.1) -> Taef2Codec:
    """Set the latents' mean and scale from ``(N, H, W, 3)`` uint8 frames; ``floor`` as in `frames.statistics`."""
    raw = torch.cat([codec.encode(batch) for batch in torch.split(frames, 32)])
    raw = raw * codec.scale[:, None, None] + codec.mean[:, None, None]
    mean, scale = statistics(raw.movedim(1, -1).reshape(-1, codec.latent_channels), floor)
    codec.mean.copy_(mean)
    codec.scale.copy_(scale)
    return codec


def _read(path: Path) -> dict[str, Tensor]:
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
    except (OSError, RuntimeError, EOFError, pickle.UnpicklingError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise DataError(f"{path} is not readable as plain weights ({reason}); fetch the file again") from error
    if not isinstance(state, Mapping) or not all(isinstance(v, Tensor) for v in state.values()):
        raise DataError(f"{path} is not a state dict of tensors; fetch the file again")
    return dict(state)


def _layers(state: Mapping[str, Tensor]) -> tuple[str, ...]:
    """Layer names by index. Layers without weights leave gaps: a clamp first, then a ReLU, then doublings.

    Convolutions without a bias are strided in an encoder (which starts with pixels) and plain in a decoder.
    """
    by_index: dict[int, set[str]] = {}
    for key in state:
        match = re.match(r"(\d+)\.(.+)", key)
        if match is None:
            raise ValueError(f"key {key!r} has no layer index")
        by_index.setdefault(int(match[1]), set()).add(match[2].split(".")[0])
    encodes = 0 in by_index
    names: list[str] = []
    for index in range(max(by_index) + 1):
        parts = by_index.get(index)
        if parts is None:
            names.append("up" if "relu" in names else "relu" if names else "clamp")
        elif "conv" in parts:
            names.append("pooled" if "pool" in parts else "block")
        else:
            names.append("conv" if "bias" in parts else "down" if encodes else "plain")
    return tuple(names)


def _stack(names: tuple[str, ...], inputs: int, outputs: int, config: Taef2Config) -> nn.Sequential:
    """The layers in order; the first convolution takes ``inputs``, the last layer gives ``outputs``."""
    width = config.width
    layers: list[nn.Module] = []
    for index, name in enumerate(names):
        before = inputs if "conv" not in names[:index] else width
        after = outputs if index == len(names) - 1 else width
        layers.append(_LAYERS[name](before, after, config))
    return nn.Sequential(*layers)


_LAYERS: dict[str, Callable[[int, int, Taef2Config], nn.Module]] = {
    "clamp": lambda before, after, config: _Clamp(),
    "relu": lambda before, after, config: nn.ReLU(),
    "up": lambda before, after, config: nn.Upsample(scale_factor=2),
    "conv": lambda before, after, config: nn.Conv2d(before, after, 3, padding=1),
    "plain": lambda before, after, config: nn.Conv2d(before, after, 3, padding=1, bias=False),
    "down": lambda before, after, config: nn.Conv2d(before, after, 3, stride=2, padding=1, bias=False),
    "block": lambda before, after, config: _Block(config.width),
    "pooled": lambda before, after, config: _Block(config.width, config.pool_width),
}
