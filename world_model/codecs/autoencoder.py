"""Autoencoders of the diffusers library, frame by frame: SDXL's `AutoencoderKL`, Wan's, and the tiny ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch
from torch import Tensor

from world_model.codecs.base import CodecModule
from world_model.codecs.frames import Affine, check_frames, check_latents
from world_model.diffusers_files import read_network, reading, where
from world_model.errors import DataError, InputError
from world_model.extras import require
from world_model.rules import FLAG, Choice, settle

SDXL = "stabilityai/stable-diffusion-xl-base-1.0"
"""Whose folder ``vae`` IRASim's latents are of."""


@dataclass(frozen=True)
class Family:
    """What differs from one class of diffusers to the next; pictures and latents are ``(N, C, U, V)``."""

    encode: Callable[[Any, Tensor], Tensor]
    decode: Callable[[Any, Tensor], Tensor]
    affine: Callable[[Mapping[str, Any]], Affine]
    """Published mean and scale of the latents, from the network's settings."""


def _scaled(settings: Mapping[str, Any]) -> Affine:
    """Latents times the scaling factor, 0.13025 for SDXL, after a shift that most do not have."""
    shift, factor = settings.get("shift_factor") or 0.0, settings.get("scaling_factor") or 1.0
    return Affine(torch.tensor([float(shift)]), torch.tensor([1 / float(factor)]))


def _whitened(settings: Mapping[str, Any]) -> Affine:
    return Affine(torch.tensor(settings["latents_mean"]), torch.tensor(settings["latents_std"]))


FAMILIES: Mapping[str, Family] = MappingProxyType(
    {
        "AutoencoderKL": Family(
            lambda net, x: net.encode(x).latent_dist.mean, lambda net, z: net.decode(z).sample, _scaled
        ),
        # Each frame is the first of a video of its own, which Wan encodes without looking at others.
        "AutoencoderKLWan": Family(
            lambda net, x: net.encode(x[:, :, None]).latent_dist.mean[:, :, 0],
            lambda net, z: net.decode(z[:, :, None]).sample[:, :, 0],
            _whitened,
        ),
        "AutoencoderTiny": Family(lambda net, x: net.encode(x).latents, lambda net, z: net.decode(z).sample, _scaled),
    }
)
"""By class name of diffusers."""


@dataclass(frozen=True)
class AutoencoderConfig:
    """A class of diffusers and its settings, as its ``config.json`` has them."""

    family: str
    """One of `FAMILIES`."""
    settings: dict[str, Any] = field(default_factory=dict)
    clips: bool = False
    """Wan's: compress time too, as published, instead of taking frames one by one; see `world_model.codecs.clips`."""

    def __post_init__(self) -> None:
        settle(self, {"family": Choice(tuple(FAMILIES)), "clips": FLAG})
        if self.clips and self.family != "AutoencoderKLWan":
            raise InputError(f"clips is on but {self.family} takes frames one by one; turn it off")


class AutoencoderCodec(CodecModule):
    """The network with its latents normalised as published; see `interface.Codec`.

    Frames are encoded to the mean of their posterior, where published training draws from it.
    """

    mean: Tensor  # (C,) or (1,) of the network's latents
    scale: Tensor

    def __init__(self, config: AutoencoderConfig) -> None:
        super().__init__()
        self.config, self.family = config, FAMILIES[config.family]
        kind = getattr(require("diffusers", "diffusers"), config.family)
        self.net = kind.from_config(dict(config.settings)).eval().requires_grad_(False)
        affine = self.family.affine(self.net.config)
        self.register_buffer("mean", affine.mean.clone())
        self.register_buffer("scale", affine.scale.clone())
        self.latent_channels, self.downsample = self._measure()
        self.stride = 2 ** sum(self.net.config.temperal_downsample) if config.clips else 1

    def encode(self, frames: Tensor) -> Tensor:
        """``(..., H, W, 3)`` uint8 to ``(..., C, U, V)`` float32."""
        check_frames(frames, self.downsample)
        lead = frames.shape[:-3]
        pictures = frames.reshape(-1, *frames.shape[-3:]).movedim(-1, 1).to(self.mean.dtype) / 127.5 - 1
        latents = (self.family.encode(self.net, pictures) - self.mean[:, None, None]) / self.scale[:, None, None]
        return latents.reshape(*lead, *latents.shape[1:]).float()

    def decode(self, latents: Tensor) -> Tensor:
        """``(..., C, U, V)`` to ``(..., H, W, 3)`` float32 in [0, 1] (not clipped, not rounded)."""
        check_latents(latents, self.latent_channels)
        lead = latents.shape[:-3]
        flat = latents.reshape(-1, *latents.shape[-3:]).to(self.mean.dtype)
        pictures = self.family.decode(self.net, flat * self.scale[:, None, None] + self.mean[:, None, None])
        return ((pictures.movedim(1, -1) + 1) / 2).reshape(*lead, *pictures.shape[-2:], 3).float()

    def encode_clip(self, frames: Tensor) -> Tensor:
        """``(B, 1 + k stride, H, W, 3)`` uint8 to ``(B, 1 + k, C, U, V)`` float32, of an autoencoder of clips."""
        check_frames(frames, self.downsample)
        if (frames.shape[1] - 1) % self.stride:
            raise InputError(
                f"a clip has {frames.shape[1]} frames but this codec takes 1 + {self.stride} k; cut or lengthen it"
            )
        video = frames.movedim(-1, 1).to(self.mean.dtype) / 127.5 - 1  # (B, 3, T, H, W)
        latents = self.net.encode(video).latent_dist.mean.movedim(1, 2)
        return ((latents - self.mean[:, None, None]) / self.scale[:, None, None]).float()

    def decode_clip(self, latents: Tensor) -> Tensor:
        """``(B, 1 + k, C, U, V)`` to ``(B, 1 + k stride, H, W, 3)`` float32 in [0, 1] (not clipped, not rounded)."""
        check_latents(latents, self.latent_channels)
        whole = latents.to(self.mean.dtype) * self.scale[:, None, None] + self.mean[:, None, None]
        return ((self.net.decode(whole.movedim(2, 1)).sample.movedim(1, -1) + 1) / 2).float()

    @torch.no_grad()
    def _measure(self) -> tuple[int, int]:
        """Latent channels, and pixels of a latent cell's side, of a network on any device, the meta device too."""
        side = 64
        latents = self.family.encode(self.net, torch.zeros(1, 3, side, side, device=self.mean.device))
        return latents.shape[1], side // latents.shape[-1]


def read_autoencoder(source: Path | str, subfolder: str | None = None, clips: bool = False) -> AutoencoderCodec:
    """A codec from a folder or hub id in the layout of diffusers; the class is the one that its config names.

    Args:
        subfolder: where it lies in a pipeline, ``vae`` as a rule.
        clips: see `AutoencoderConfig`.

    Raises:
        DataError: there is none, it cannot be fetched or read, or is of another class.
        MissingExtraError: diffusers is not installed.
    """
    diffusers = require("diffusers", "diffusers")
    with reading("autoencoder", source, subfolder):
        family = diffusers.AutoencoderKL.load_config(str(source), subfolder=subfolder).get("_class_name")
    if family not in FAMILIES:
        raise DataError(
            f"{where(source, subfolder)} holds a {family}, not one of {', '.join(FAMILIES)}; give the folder of one of "
            "them"
        )
    kind = getattr(diffusers, family)
    net = read_network(kind, "autoencoder", source, subfolder, low_cpu_mem_usage=False)
    plain = {name: value for name, value in net.config.items() if not name.startswith("_")}
    codec = AutoencoderCodec(AutoencoderConfig(family, plain, clips))
    codec.net.load_state_dict(net.state_dict())
    return codec.eval().requires_grad_(False)
