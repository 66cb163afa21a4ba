"""The latent cache: what is read is what the codec gives, under its own hash; damage is named."""

import pytest
import torch
from safetensors.torch import save_file

from tests.world_model.data.lerobot.folders import make_spec, write
from world_model.codecs import PcaCodec, PcaConfig, SpaceToDepth, SpaceToDepthConfig
from world_model.data.latents import LatentCache, codec_hash
from world_model.data.lerobot.reader import read_dataset
from world_model.errors import DataError


@pytest.fixture
def dataset(tmp_path):
    write(tmp_path / "set", make_spec(), lengths=(5, 3, 7))
    return read_dataset(tmp_path / "set")


@pytest.fixture
def codec():
    return PcaCodec(PcaConfig(patch=4, channels=6))


class Counted:
    """A codec that counts the frames it encodes."""

    def __init__(self, codec, monkeypatch):
        self.frames, encode = 0, codec.encode

        def counting(frames):
            self.frames += len(frames)
            return encode(frames)

        monkeypatch.setattr(codec, "encode", counting)


def test_read_latents_are_the_encoded_frames(dataset, codec, monkeypatch):
    cache = LatentCache(dataset, codec)
    expected = [codec.encode(torch.from_numpy(dataset.frames(i))) for i in range(3)]
    counted = Counted(codec, monkeypatch)
    for _ in range(2):
        for number in range(3):
            assert torch.equal(cache[number], expected[number])
    assert counted.frames == 15  # each frame once
    assert torch.equal(LatentCache(read_dataset(dataset.path), codec)[1], expected[1])
    assert counted.frames == 15
    with pytest.raises(IndexError, match="episode 3 of 3"):
        cache[3]


def test_filling_encodes_what_is_missing(dataset, codec, monkeypatch):
    cache, calls = LatentCache(dataset, codec), []
    cache[1]
    counted = Counted(codec, monkeypatch)
    cache.fill(lambda done, total: calls.append((done, total)))
    assert (counted.frames, calls) == (12, [(1, 3), (2, 3), (3, 3)])
    assert sorted(path.name for path in cache.folder.iterdir()) == [f"episode-{i:06d}.safetensors" for i in range(3)]


def test_another_codec_has_another_hash_and_folder(dataset, codec):
    other, same = PcaCodec(PcaConfig(patch=4, channels=6)), PcaCodec(PcaConfig(patch=4, channels=6))
    other.scale[2] = 2.0
    kinds = [codec, other, PcaCodec(PcaConfig(patch=4, channels=7)), SpaceToDepth(SpaceToDepthConfig(4))]
    assert len({codec_hash(kind) for kind in kinds}) == 4
    assert codec_hash(same) == codec_hash(codec)
    one, two = LatentCache(dataset, codec), LatentCache(dataset, other)
    assert torch.allclose(one[0][:, 2], 2 * two[0][:, 2])
    assert one.folder != two.folder


def test_damage_is_named(dataset, codec):
    cache = LatentCache(dataset, codec)
    latents = cache[0]
    cache.path(0).write_bytes(cache.path(0).read_bytes()[:-40])
    with pytest.raises(DataError, match=r"are damaged .* delete the file"):
        cache[0]
    save_file({"latents": latents[:4].contiguous()}, cache.path(0), metadata={"codec": cache.hash})
    with pytest.raises(DataError, match=r"4 frames, not of .* and 5"):
        cache[0]
    save_file({"latents": latents}, cache.path(0), metadata={"codec": "0"})
    with pytest.raises(DataError, match="are of codec 0 and"):
        cache[0]
    cache.path(0).unlink()
    assert torch.equal(cache[0], latents)
