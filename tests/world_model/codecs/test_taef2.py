"""TAEF2 from its published files: the measured golden numbers, and files that must be refused."""

import json
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from world_model.codecs import fit_taef2, load_codec, read_taef2, save_codec
from world_model.codecs.taef2 import DECODER_FILE, ENCODER_FILE
from world_model.errors import DataError


def _frame(path: Path, index: int) -> NDArray[Any]:
    if path.suffix == ".npz":
        frame: NDArray[Any] = np.load(path)["image"][index]
        return frame
    with av.open(str(path)) as video:
        return next(f for i, f in enumerate(video.decode(video=0)) if i == index).to_ndarray(format="rgb24")


def test_golden_psnr_on_real_frames(shared_data: Path) -> None:
    codec = read_taef2(shared_data / "weights/taef2")
    assert (codec.latent_channels, codec.downsample) == (32, 8)
    assert sum(p.numel() for p in codec.parameters()) == 2_677_027
    golden = json.loads((shared_data / "weights/goldens.json").read_text())["taef2"]
    for place, psnr in golden["psnr_db"].items():
        name, index = place.replace("image[", "frame ").rstrip("]").split(" frame ")
        frame = torch.from_numpy(_frame(shared_data / name, int(index)))
        again = codec.decode(codec.encode(frame)).clamp(0, 1)
        ours = -10 * torch.log10(((again - frame / 255) ** 2).mean())
        assert abs(float(ours) - psnr) < golden["tolerance_db"]


def test_normalised_and_saved(shared_data: Path, frames: Tensor, tmp_path: Path) -> None:
    codec = read_taef2(shared_data / "weights/taef2")
    before = codec.decode(codec.encode(frames[:2]))
    fit_taef2(codec, frames[:64])
    latents = codec.encode(frames[:64].reshape(8, 8, 32, 32, 3))
    assert latents.shape == (8, 8, 32, 4, 4)
    rows = latents.movedim(2, -1).reshape(-1, 32)
    assert rows.mean(0).abs().max() < 1e-3
    assert abs(float(rows.std(0).max()) - 1) < 0.01
    torch.testing.assert_close(codec.decode(codec.encode(frames[:2])), before, atol=1e-3, rtol=0)
    save_codec(codec, tmp_path / "codec")
    assert torch.equal(load_codec(tmp_path / "codec").encode(frames[:2]), codec.encode(frames[:2]))


class _Bomb:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


@pytest.mark.parametrize("kind", ["absent", "pickle", "list", "other network", "truncated"])
def test_bad_files_get_one_sentence(kind: str, tmp_path: Path) -> None:
    torch.save({"1.weight": torch.zeros(64, 32, 3, 3)}, tmp_path / DECODER_FILE)
    encoder, bomb = tmp_path / ENCODER_FILE, tmp_path / "exploded"
    if kind != "absent":
        content = {"pickle": _Bomb(bomb), "list": [1, 2], "other network": {"head.weight": torch.zeros(2)}}
        torch.save(content.get(kind, {"0.weight": torch.zeros(999)}), encoder)
    if kind == "truncated":
        encoder.write_bytes(encoder.read_bytes()[:200])
    with pytest.raises(DataError, match="fetch") as caught:
        read_taef2(tmp_path)
    assert "\n" not in str(caught.value)
    assert not bomb.exists()
