"""TFRecord framing and Example messages."""

import struct

import numpy as np
import pytest

from world_model.data.readers.tfrecord import (
    build_example,
    frame_record,
    masked_crc,
    parse_example,
    read_record,
    record_places,
)
from world_model.errors import DataError


def test_the_mask_is_tensorflows():
    # CRC-32C of "123456789" is 0xE3069283 (RFC 3720); TensorFlow rotates right by 15 and adds 0xA282EAD8.
    crc = 0xE3069283
    assert masked_crc(b"123456789") == ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def test_an_example_by_hand():
    # Example{features{feature{key: "a", value{int64_list{value: [1, 2]}}}}} in the wire format, packed.
    int64_list = b"\x0a\x02\x01\x02"
    feature = b"\x1a" + bytes([len(int64_list)]) + int64_list
    entry = b"\x0a\x01a" + b"\x12" + bytes([len(feature)]) + feature
    features = b"\x0a" + bytes([len(entry)]) + entry
    found = parse_example(b"\x0a" + bytes([len(features)]) + features)
    assert found["a"].tolist() == [1, 2]


def test_there_and_back(tmp_path):
    features = {"n": np.array([1, -2, 2**40]), "x": np.array([0.5, 1e-8], np.float32), "b": [b"", b"\0\xff"]}
    path = tmp_path / "x"
    path.write_bytes(b"".join(frame_record(build_example(features)) for _ in range(3)))
    places = record_places(path)
    assert len(places) == 3
    found = parse_example(read_record(path, places[1]))
    assert found["b"] == features["b"]
    assert np.array_equal(found["n"], features["n"])
    assert np.array_equal(found["x"], features["x"])


def test_damage_is_found(tmp_path):
    whole = frame_record(b"abcdef") + frame_record(b"ghijkl")
    path = tmp_path / "x"
    path.write_bytes(whole[:-3])
    with pytest.raises(DataError, match="cut off in record 1"):
        record_places(path)
    path.write_bytes(whole[:25])
    with pytest.raises(DataError, match="cut off in the head of record 1"):
        record_places(path)
    path.write_bytes(struct.pack("<Q", 7) + whole[8:])
    with pytest.raises(DataError, match="wrong checksum at the head of record 0"):
        record_places(path)
    path.write_bytes(whole.replace(b"ghi", b"gHi"))
    with pytest.raises(ValueError, match="does not match its checksum"):
        read_record(path, record_places(path)[1])
    with pytest.raises(ValueError, match="no Example"):
        parse_example(b"\xff\xff")
