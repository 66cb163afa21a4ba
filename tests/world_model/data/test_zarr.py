"""Zarr v2 and Blosc: the real Push-T data against LeRobot's copy of it, made buffers, and damage."""

import json
import shutil
import struct
import zlib

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from world_model.data.zarr import blosc_decode, read_zarr_array
from world_model.errors import DataError


@pytest.fixture
def human(shared_data):
    return shared_data / "pusht_human" / "pusht_cchi_v7_ep000-044.zarr"


def test_states_and_actions_equal_lerobots_copy_bit_for_bit(human, shared_data):
    table = pq.read_table(shared_data / "pusht_lerobot_v30" / "data" / "chunk-000" / "file-000.parquet").slice(0, 5670)
    for name, column in (("state", "observation.state"), ("action", "action")):
        ours = read_zarr_array(human / "data" / name)
        assert np.array_equal(ours[:, :2], np.stack(table[column].to_numpy()))
    ends = read_zarr_array(human / "meta" / "episode_ends")
    episodes = table["episode_index"].to_numpy()
    assert ends.tolist() == [*np.flatnonzero(np.diff(episodes)) + 1, 5670]


def test_images_are_pictures(human, tmp_path):
    folder = tmp_path / "img"
    folder.mkdir()
    shutil.copy(human / "data" / "img" / "0.0.0.0", folder)
    meta = json.loads((human / "data" / "img" / ".zarray").read_text()) | {"shape": [161, 96, 96, 3]}
    (folder / ".zarray").write_text(json.dumps(meta))
    frames = read_zarr_array(folder)
    assert frames.shape == (161, 96, 96, 3)
    assert (frames == 255).mean() > 0.7  # white ground
    assert set(np.unique(frames)) <= set(range(256))


def test_a_damaged_chunk_is_named(human, tmp_path):
    folder = tmp_path / "state"
    shutil.copytree(human / "data" / "state", folder)
    for damage in (lambda b: b[:-100], lambda b: b[:40] + bytes(200) + b[240:], lambda b: b[:5]):
        chunk = folder / "3.0"
        chunk.chmod(0o644)
        chunk.write_bytes(damage((human / "data" / "state" / "3.0").read_bytes()))
        with pytest.raises(DataError, match=r"state/3\.0 is damaged"):
            read_zarr_array(folder)


def test_missing_chunks_hold_the_fill_value_and_edges_are_cut(tmp_path):
    meta = {"zarr_format": 2, "shape": [5, 3], "chunks": [2, 2], "dtype": "<i4", "order": "C", "compressor": None}
    (tmp_path / ".zarray").write_text(json.dumps(meta | {"fill_value": 7, "filters": None}))
    whole = np.arange(15, dtype="<i4").reshape(5, 3)
    for i in range(3):
        for j in range(2):
            if (i, j) != (1, 1):
                block = np.zeros((2, 2), "<i4")
                part = whole[2 * i : 2 * i + 2, 2 * j : 2 * j + 2]
                block[: part.shape[0], : part.shape[1]] = part
                (tmp_path / f"{i}.{j}").write_bytes(block.tobytes())
    whole[2:4, 2:] = 7
    assert np.array_equal(read_zarr_array(tmp_path), whole)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"zarr_format": 3}, "format 3"),
        ({"compressor": {"id": "gzip"}}, "gzip"),
        ({"dtype": "|O"}, "object"),
        ({"shape": None}, "zarray"),
    ],
)
def test_other_forms_are_refused(tmp_path, change, message):
    meta = {"zarr_format": 2, "shape": [1], "chunks": [1], "dtype": "<i4", "order": "C", "compressor": None}
    (tmp_path / ".zarray").write_text(json.dumps(meta | change))
    with pytest.raises(DataError, match=message):
        read_zarr_array(tmp_path)


def test_no_array_is_said_so(tmp_path):
    with pytest.raises(DataError, match=r"\.zarray is missing"):
        read_zarr_array(tmp_path / "nothing")


def pack(data, *, width, block, flags, codec, split):
    """A Blosc 1 buffer made by its specification; ``codec`` compresses one stream."""
    streams = []
    for at in range(0, len(data), block):
        part = data[at : at + block]
        if flags & 1:
            count = len(part) // width
            part = np.frombuffer(part, np.uint8).reshape(count, width).T.tobytes()
        elif flags & 4 and (len(part) // width) % 8 == 0:
            bits = np.unpackbits(np.frombuffer(part, np.uint8).reshape(-1, width), axis=1, bitorder="little")
            part = np.packbits(bits.T, axis=1, bitorder="little").tobytes()
        count = width if split and len(part) == block else 1
        size = len(part) // count
        body = b""
        for i in range(count):
            packed = codec(part[i * size : (i + 1) * size])
            packed = packed if len(packed) < size else part[i * size : (i + 1) * size]
            body += struct.pack("<i", len(packed)) + packed
        streams.append(body)
    offsets, at = [], 16 + 4 * len(streams)
    for body in streams:
        offsets.append(at)
        at += len(body)
    header = struct.pack("<BBBBIII", 2, 1, flags, width, len(data), block, at)
    return header + struct.pack(f"<{len(offsets)}I", *offsets) + b"".join(streams)


CODECS = {
    4: lambda b: bytes(pa.Codec("zstd").compress(b)),
    1: lambda b: bytes(pa.Codec("lz4_raw").compress(b)),
    3: zlib.compress,
}


@pytest.mark.parametrize("number", CODECS)
@pytest.mark.parametrize("shuffle", [0, 1, 4])
@pytest.mark.parametrize("split", [False, True])
def test_every_codec_shuffle_and_split(number, shuffle, split):
    data = np.cumsum(np.random.default_rng(0).integers(0, 3, 5000)).astype("<f4").tobytes()
    flags = number << 5 | shuffle | (0 if split else 0x10)
    raw = pack(data, width=4, block=4096, flags=flags, codec=CODECS[number], split=split)
    assert len(raw) < len(data) + 200
    assert blosc_decode(raw) == data


def test_stored_and_empty_buffers():
    assert blosc_decode(struct.pack("<BBBBIII", 2, 1, 2, 4, 5, 5, 21) + b"hello") == b"hello"
    assert blosc_decode(struct.pack("<BBBBIII", 2, 1, 0, 4, 0, 0, 16)) == b""


def test_an_unknown_codec_is_refused():
    with pytest.raises(ValueError, match="codec number 0"):
        blosc_decode(struct.pack("<BBBBIIII", 2, 1, 0, 4, 8, 8, 24, 20) + bytes(4))
