"""Codec folders: every kind comes back bit-equal."""

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from world_model.codecs import (
    CODECS,
    ConvConfig,
    PcaConfig,
    SpaceToDepthConfig,
    Taef2Config,
    fit_pca,
    fit_space_to_depth,
    load_codec,
    save_codec,
)
from world_model.codecs.conv import ConvCodec
from world_model.codecs.taef2 import Taef2Codec
from world_model.errors import DataError


def _codec(kind: str, frames: Tensor) -> nn.Module:
    if kind == "pca":
        return fit_pca(frames, PcaConfig(8, 20))
    if kind == "space_to_depth":
        return fit_space_to_depth(frames, SpaceToDepthConfig(4))
    if kind == "conv":
        return ConvCodec(ConvConfig(width=8)).eval()
    layers = ("conv", "down", "pooled", "conv"), ("clamp", "conv", "relu", "pooled", "up", "conv")
    return Taef2Codec(Taef2Config(*layers, channels=5, width=8, pool_width=16)).eval()


@pytest.mark.parametrize("kind", sorted(CODECS))
def test_round_trip_is_bit_equal(kind: str, frames: Tensor, tmp_path: Path) -> None:
    codec = _codec(kind, frames)
    save_codec(codec, tmp_path / "codec")
    again = load_codec(tmp_path / "codec")
    assert type(again) is type(codec)
    assert again.config == codec.config
    latents = codec.encode(frames[:3])
    assert torch.equal(again.encode(frames[:3]), latents)
    assert torch.equal(again.decode(latents), codec.decode(latents))
    assert (again.latent_channels, again.downsample) == (codec.latent_channels, codec.downsample)


def test_an_edited_config_is_refused(frames: Tensor, tmp_path: Path) -> None:
    save_codec(_codec("pca", frames), tmp_path / "codec")
    config = tmp_path / "codec/config.json"
    config.write_text(config.read_text().replace("20", "21"))
    with pytest.raises(DataError, match=r"config\.json has SHA-256 .* copy the checkpoint again"):
        load_codec(tmp_path / "codec")
