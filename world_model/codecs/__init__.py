"""Codecs: frames to latents and back. `load_codec` opens a codec folder, `save_codec` writes one."""

from __future__ import annotations

from pathlib import Path

import torch

from world_model import checkpoint, registry
from world_model.codecs.autoencoder import AutoencoderCodec, AutoencoderConfig, read_autoencoder
from world_model.codecs.base import CodecModule
from world_model.codecs.conv import ConvCodec, ConvConfig, ConvFit, fit_conv
from world_model.codecs.pca import PcaCodec, PcaConfig, fit_pca
from world_model.codecs.space_to_depth import SpaceToDepth, SpaceToDepthConfig, fit_space_to_depth
from world_model.codecs.taef2 import Taef2Codec, Taef2Config, fit_taef2, read_taef2

CODECS: dict[str, tuple[type, type[CodecModule]]] = {
    "space_to_depth": (SpaceToDepthConfig, SpaceToDepth),
    "pca": (PcaConfig, PcaCodec),
    "conv": (ConvConfig, ConvCodec),
    "taef2": (Taef2Config, Taef2Codec),
    "autoencoder": (AutoencoderConfig, AutoencoderCodec),
}

__all__ = [
    "CODECS",
    "AutoencoderCodec",
    "AutoencoderConfig",
    "CodecModule",
    "ConvCodec",
    "ConvConfig",
    "ConvFit",
    "PcaCodec",
    "PcaConfig",
    "SpaceToDepth",
    "SpaceToDepthConfig",
    "Taef2Codec",
    "Taef2Config",
    "fit_conv",
    "fit_pca",
    "fit_space_to_depth",
    "fit_taef2",
    "load_codec",
    "read_autoencoder",
    "read_codec",
    "read_taef2",
    "save_codec",
    "write_codec",
]


def save_codec(codec: CodecModule, folder: Path | str) -> None:
    """Write a codec folder of its own (config, weights, manifest), whole or not at all."""
    with checkpoint.writing_folder(Path(folder)) as temporary:
        write_codec(codec, temporary)


def load_codec(folder: Path | str, device: torch.device | str = "cpu") -> CodecModule:
    """Open a codec folder as an `interface.Codec` in evaluation mode, in float32.

    Raises:
        DataError: the folder is damaged, incomplete or of an unknown kind.
    """
    return read_codec(checkpoint.open_folder(Path(folder))).to(device)


def write_codec(codec: CodecModule, folder: Path) -> None:
    """Write ``config.json`` and ``model.safetensors`` (always as they are: a codec is small) into a folder."""
    checkpoint.write_json(folder / "config.json", registry.to_dict(CODECS, codec))
    checkpoint.write_tensors(folder / "model.safetensors", codec.state_dict())


def read_codec(folder: checkpoint.Folder, prefix: str = "") -> CodecModule:
    """The codec under ``prefix`` (such as ``codec/``) of an opened checkpoint, on the CPU."""
    config, weights = f"{prefix}config.json", f"{prefix}model.safetensors"
    codec: CodecModule = registry.build(CODECS, folder.json(config), str(folder.path / config))
    checkpoint.load_state(codec, folder.tensors(weights), folder.path / weights)
    return codec.eval().requires_grad_(False)
