"""Autoencoders of diffusers as codecs: tiny ones with random weights, written to folders and read back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from tests.world_model.data.lerobot.folders import make_spec, write
from world_model.codecs import load_codec, save_codec
from world_model.codecs.autoencoder import AutoencoderCodec, AutoencoderConfig, read_autoencoder
from world_model.codecs.clips import decode_after, encode_clip, stride_of
from world_model.data.latents import LatentCache, codec_hash
from world_model.data.lerobot.reader import read_dataset
from world_model.errors import DataError, InputError

diffusers = pytest.importorskip("diffusers")
KL = {
    "block_out_channels": [8, 8, 8, 8],
    "down_block_types": ["DownEncoderBlock2D"] * 4,
    "up_block_types": ["UpDecoderBlock2D"] * 4,
    "norm_num_groups": 4,
    "layers_per_block": 1,
    "scaling_factor": 0.13025,
}
TINY = {
    "encoder_block_out_channels": [8] * 4,
    "decoder_block_out_channels": [8] * 4,
    "num_encoder_blocks": [1] * 4,
    "num_decoder_blocks": [1] * 4,
}
WAN = {"base_dim": 8, "z_dim": 16, "dim_mult": [1, 1, 1, 1], "num_res_blocks": 1}
SETTINGS: dict[str, dict[str, Any]] = {"AutoencoderKL": KL, "AutoencoderTiny": TINY, "AutoencoderKLWan": WAN}
CHANNELS = {"AutoencoderKL": 4, "AutoencoderTiny": 4, "AutoencoderKLWan": 16}


def folder(path: Path, family: str) -> Any:
    """A folder as diffusers writes it; the network in it."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        net = getattr(diffusers, family)(**SETTINGS[family]).eval()
    net.save_pretrained(path / "vae")
    return net


def frames(*shape: int) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(0).integers(0, 256, (*shape, 3), dtype=np.uint8))


@pytest.mark.parametrize("family", SETTINGS)
def test_equals_the_network_and_comes_back_from_our_folder(tmp_path: Path, family: str) -> None:
    net = folder(tmp_path, family)
    codec = read_autoencoder(tmp_path, "vae")
    assert (codec.latent_channels, codec.downsample) == (CHANNELS[family], 8)
    pictures = frames(2, 3, 32, 48)
    latents = codec.encode(pictures)
    assert latents.shape == (2, 3, CHANNELS[family], 4, 6)
    one = pictures[1, 2].permute(2, 0, 1)[None].float() / 127.5 - 1
    with torch.no_grad():
        if family == "AutoencoderKL":
            wanted, back = net.encode(one).latent_dist.mean * 0.13025, net.decode(latents[1, 2][None] / 0.13025).sample
        elif family == "AutoencoderTiny":
            wanted, back = net.encode(one).latents, net.decode(latents[1, 2][None]).sample
        else:
            mean, std = (torch.tensor(net.config[k])[:, None, None] for k in ("latents_mean", "latents_std"))
            wanted = (net.encode(one[:, :, None]).latent_dist.mean[:, :, 0] - mean) / std
            back = net.decode((latents[1, 2] * std + mean)[None, :, None]).sample[:, :, 0]
    torch.testing.assert_close(latents[1, 2], wanted[0], rtol=0, atol=1e-5)
    decoded = codec.decode(latents)
    assert decoded.shape == (2, 3, 32, 48, 3)
    torch.testing.assert_close(decoded[1, 2], (back[0].permute(1, 2, 0) + 1) / 2, rtol=0, atol=1e-5)
    save_codec(codec, tmp_path / "codec")
    again = load_codec(tmp_path / "codec")
    assert isinstance(again, AutoencoderCodec)
    assert torch.equal(again.encode(pictures), latents)
    assert codec_hash(again) == codec_hash(codec)
    assert not any(p.requires_grad for p in again.parameters())


def test_sdxl_size_and_scale() -> None:
    """The published VAE's parameters, on the meta device."""
    settings = {
        **KL,
        "block_out_channels": [128, 256, 512, 512],
        "norm_num_groups": 32,
        "layers_per_block": 2,
    }
    with torch.device("meta"):
        codec = AutoencoderCodec(AutoencoderConfig("AutoencoderKL", settings))
    assert sum(p.numel() for p in codec.parameters()) == 83_653_863
    assert (codec.latent_channels, codec.downsample) == (4, 8)


def test_latents_are_cached_under_the_codec(tmp_path: Path) -> None:
    folder(tmp_path, "AutoencoderTiny")
    codec = read_autoencoder(tmp_path / "vae")
    write(tmp_path / "data", make_spec(size=(24, 40)), lengths=(5, 3))
    dataset = read_dataset(tmp_path / "data")
    cache = LatentCache(dataset, codec)
    latents = cache[0]
    assert cache.path(0).parent.name == codec_hash(codec)
    assert torch.equal(latents, LatentCache(dataset, codec)[0])


def test_no_autoencoder_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"there is no autoencoder to read at .*nowhere/vae, for it does not exist"):
        read_autoencoder(tmp_path / "nowhere", "vae")
    diffusers.UNet2DModel(
        block_out_channels=(8, 8),
        norm_num_groups=4,
        down_block_types=("DownBlock2D",) * 2,
        up_block_types=("UpBlock2D",) * 2,
    ).save_pretrained(tmp_path / "unet")
    with pytest.raises(DataError, match="holds a UNet2DModel, not one of AutoencoderKL"):
        read_autoencoder(tmp_path / "unet")
    net = folder(tmp_path, "AutoencoderTiny")
    weights = tmp_path / "vae" / "diffusion_pytorch_model.safetensors"
    save_file({name: value for name, value in net.state_dict().items() if name != "encoder.layers.0.bias"}, weights)
    with pytest.raises(DataError, match=r"lacks or adds 'encoder\.layers\.0\.bias'"):
        read_autoencoder(tmp_path, "vae")
    weights.unlink()
    torch.save(net.state_dict(), tmp_path / "vae" / "diffusion_pytorch_model.bin")  # a pickle
    with pytest.raises(DataError, match="there is no autoencoder to read"):
        read_autoencoder(tmp_path, "vae")


def test_clips_share_latent_frames(tmp_path: Path) -> None:
    folder(tmp_path, "AutoencoderKLWan")
    codec, single = read_autoencoder(tmp_path, "vae", clips=True), read_autoencoder(tmp_path, "vae")
    clip = frames(2, 9, 16, 16)
    with torch.no_grad():
        latents = encode_clip(codec, clip)
        assert (stride_of(codec), stride_of(single), latents.shape) == (4, 1, (2, 3, 16, 2, 2))
        torch.testing.assert_close(latents[:, 0], codec.encode(clip[:, 0]), rtol=1e-4, atol=1e-4)
        assert encode_clip(single, clip).shape == (2, 9, 16, 2, 2)
        again = decode_after(codec, latents[:, :1], latents[:, 1:])
        assert again.shape == (2, 8, 16, 16, 3)
        torch.testing.assert_close(again, codec.decode_clip(latents)[:, 1:])
    with pytest.raises(InputError, match=r"8 frames but this codec takes 1 \+ 4 k"):
        codec.encode_clip(clip[:, :8])
    with pytest.raises(InputError, match="clips is on"):
        AutoencoderConfig("AutoencoderKL", KL, clips=True)
    save_codec(codec, tmp_path / "codec")
    assert torch.equal(load_codec(tmp_path / "codec").encode_clip(clip), latents)  # type: ignore[attr-defined]
