"""TFRecord files without TensorFlow: framing with checksums, and `tf.train.Example` messages."""

from __future__ import annotations

import struct
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from world_model.data.lerobot.video import require_real_file
from world_model.data.readers.damage import refuse
from world_model.extras import require

MASK_ADD = 0xA282EAD8  # TFRecord rotates a CRC-32C and adds this
LENGTH, CHECK = struct.Struct("<Q"), struct.Struct("<I")
PACKAGE = "simforcing.tf"  # a name of our own, so that a real TensorFlow in the process is not disturbed
LISTS = {"bytes_list": "TYPE_BYTES", "float_list": "TYPE_FLOAT", "int64_list": "TYPE_INT64"}
Feature = NDArray[Any] | list[bytes]


def record_places(path: Path) -> list[tuple[int, int]]:
    """Offset and length of every record's data; the data are not read.

    Raises:
        DataError: the file is cut off, or a length does not match its checksum.
        MissingExtraError: google-crc32c is not installed.
    """
    require_real_file(path)
    size, at = path.stat().st_size, 0
    places: list[tuple[int, int]] = []
    with path.open("rb") as file:
        while at < size:
            file.seek(at)
            head = file.read(LENGTH.size + CHECK.size)
            if len(head) < LENGTH.size + CHECK.size:
                raise refuse(path, str(len(places)), f"is cut off in the head of record {len(places)}")
            (length,), (check,) = LENGTH.unpack(head[: LENGTH.size]), CHECK.unpack(head[LENGTH.size :])
            if check != masked_crc(head[: LENGTH.size]):
                raise refuse(path, str(len(places)), f"has a wrong checksum at the head of record {len(places)}")
            start = at + len(head)
            at = start + length + CHECK.size
            if at > size:
                raise refuse(path, str(len(places)), f"is cut off in record {len(places)}")
            places.append((start, length))
    return places


def read_record(path: Path, place: tuple[int, int]) -> bytes:
    """The data of a record; a wrong checksum raises ValueError."""
    start, length = place
    with path.open("rb") as file:
        file.seek(start)
        data = file.read(length + CHECK.size)
    if len(data) < length + CHECK.size or CHECK.unpack(data[length:])[0] != masked_crc(data[:length]):
        raise ValueError(f"the record at byte {start} does not match its checksum")
    return data[:length]


def frame_record(data: bytes) -> bytes:
    """A record as it stands in a file."""
    head = LENGTH.pack(len(data))
    return head + CHECK.pack(masked_crc(head)) + data + CHECK.pack(masked_crc(data))


def masked_crc(data: bytes) -> int:
    crc: int = require("google_crc32c", "rlds").value(data)
    return ((crc >> 15 | crc << 17) + MASK_ADD) & 0xFFFFFFFF


def parse_example(data: bytes) -> dict[str, Feature]:
    """Features of a serialised Example by name; bytes as a list, numbers as float32 or int64 ``(N,)``.

    Raises:
        ValueError: it is none.
    """
    message = example_class()()
    try:
        message.ParseFromString(data)
    except Exception as error:  # protobuf's DecodeError, without importing the package here
        raise ValueError(f"no Example message: {error}") from error
    found: dict[str, Feature] = {}
    for name, feature in message.features.feature.items():
        kind = feature.WhichOneof("kind")
        if kind == "bytes_list":
            found[name] = list(feature.bytes_list.value)
        elif kind is not None:
            found[name] = np.array(getattr(feature, kind).value, np.float32 if kind == "float_list" else np.int64)
    return found


def build_example(features: dict[str, Feature]) -> bytes:
    """The inverse of `parse_example`."""
    message = example_class()()
    for name, values in features.items():
        feature = message.features.feature[name]
        if isinstance(values, list):
            feature.bytes_list.value.extend(values)
        else:
            kind = feature.float_list if values.dtype.kind == "f" else feature.int64_list
            kind.value.extend(values.tolist())
    return bytes(message.SerializeToString(deterministic=True))


@cache
def example_class() -> Any:
    """The message class of `tf.train.Example`, described here field by field.

    Raises:
        MissingExtraError: protobuf is not installed.
    """
    descriptors = require("google.protobuf.descriptor_pb2", "rlds")
    pools = require("google.protobuf.descriptor_pool", "rlds")
    factory = require("google.protobuf.message_factory", "rlds")
    field = descriptors.FieldDescriptorProto
    file = descriptors.FileDescriptorProto(name="simforcing/example.proto", package=PACKAGE, syntax="proto3")
    for name, kind in LISTS.items():
        message = file.message_type.add(name=_camel(name))
        message.field.add(name="value", number=1, label=field.LABEL_REPEATED, type=getattr(field, kind))
    feature = file.message_type.add(name="Feature")
    feature.oneof_decl.add(name="kind")
    for number, name in enumerate(LISTS, 1):
        feature.field.add(
            name=name,
            number=number,
            label=field.LABEL_OPTIONAL,
            type=field.TYPE_MESSAGE,
            type_name=f".{PACKAGE}.{_camel(name)}",
            oneof_index=0,
        )
    features = file.message_type.add(name="Features")
    entry = features.nested_type.add(name="FeatureEntry")
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, label=field.LABEL_OPTIONAL, type=field.TYPE_STRING)
    message_field = {"label": field.LABEL_OPTIONAL, "type": field.TYPE_MESSAGE}
    entry.field.add(name="value", number=2, type_name=f".{PACKAGE}.Feature", **message_field)
    features.field.add(
        name="feature",
        number=1,
        label=field.LABEL_REPEATED,
        type=field.TYPE_MESSAGE,
        type_name=f".{PACKAGE}.Features.FeatureEntry",
    )
    example = file.message_type.add(name="Example")
    example.field.add(name="features", number=1, type_name=f".{PACKAGE}.Features", **message_field)
    pool = pools.DescriptorPool()
    pool.Add(file)
    return factory.GetMessageClass(pool.FindMessageTypeByName(f"{PACKAGE}.Example"))


def _camel(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))
