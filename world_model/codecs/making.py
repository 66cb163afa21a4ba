"""Codecs that a training run makes for itself: fitted on its frames, or a published one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from torch import Tensor

from world_model.codecs.autoencoder import SDXL, read_autoencoder
from world_model.codecs.base import CodecModule
from world_model.codecs.pca import PcaConfig, fit_pca
from world_model.codecs.space_to_depth import SpaceToDepthConfig, fit_space_to_depth
from world_model.registry import build_config


@dataclass(frozen=True)
class PublishedConfig:
    """An autoencoder in the layout of diffusers: a folder, or a hub id that is in the hub's cache or can be fetched."""

    source: str = SDXL
    subfolder: str = "vae"
    """Where it lies in there; "" for nowhere."""
    clips: bool = False
    """See `AutoencoderConfig`."""


def _published(frames: Tensor, config: PublishedConfig) -> CodecModule:
    return read_autoencoder(
        Path(config.source) if Path(config.source).is_dir() else config.source, config.subfolder or None, config.clips
    )


MAKERS: Mapping[str, tuple[type[Any], Callable[[Tensor, Any], CodecModule]]] = MappingProxyType(
    {
        "pca": (PcaConfig, fit_pca),
        "space_to_depth": (SpaceToDepthConfig, fit_space_to_depth),
        "published": (PublishedConfig, _published),
    }
)
"""Kind to config and maker, from ``(N, H, W, 3)`` uint8 training frames."""


def check_codec(values: Mapping[str, Any], where: str) -> None:
    """Refuse a recipe's codec that cannot be made (errors as of `registry.build_config`)."""
    build_config(_CONFIGS, values, where)


def make_codec(values: Mapping[str, Any], frames: Tensor, where: str, most: int = 4000) -> CodecModule:
    """The codec of a recipe, from at most about ``most`` of the frames, evenly spread (errors as `check_codec`)."""
    kind, config = build_config(_CONFIGS, values, where)
    return MAKERS[kind][1](frames[:: max(1, len(frames) // most)], config)


_CONFIGS = {kind: (config, CodecModule) for kind, (config, _) in MAKERS.items()}
