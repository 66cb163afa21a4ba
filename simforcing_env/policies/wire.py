"""Messages between a simulator and a policy in another process: a length, then msgpack; arrays as type, shape, bytes.

A message is 4 bytes of big-endian length and a msgpack map. An array is a map with the keys "dtype" (such as "|u1",
"<f4"), "shape" and "data" (its bytes in C order). Nothing is pickled, so an unknown peer can send wrong numbers
at most.
"""

from __future__ import annotations

import math
import socket
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from world_model.errors import DataError, InputError
from world_model.extras import require
from world_model.rules import shown

LARGEST = 1 << 30  # bytes of a message
DTYPES = ("|u1", "<i4", "<i8", "<f4", "<f8", "|b1")


def pack(message: Mapping[str, Any]) -> bytes:
    """A message with arrays, texts, numbers, lists and maps of them.

    Raises:
        MissingExtraError: msgpack is not installed.
        InputError: something that has no form here.
    """
    try:
        body: bytes = require("msgpack", "socket").packb(dict(message), default=_array_out)
    except TypeError as error:
        raise InputError(f"message {shown(message)} cannot be sent ({error}); give numbers and arrays") from error
    if len(body) > LARGEST:
        raise InputError(f"a message of {len(body)} bytes is too long, the limit is {LARGEST}; send fewer episodes")
    return len(body).to_bytes(4, "big") + body


def unpack(body: bytes) -> dict[str, Any]:
    """Inverse of `pack`, without the length.

    Raises:
        DataError: no such message.
    """
    try:
        message = require("msgpack", "socket").unpackb(body, object_hook=_array_in)
    except (ValueError, TypeError, KeyError) as error:
        raise DataError(
            f"a message of {len(body)} bytes is damaged ({error}); do both ends speak this form?"
        ) from error
    if not isinstance(message, dict):
        raise DataError(f"a message is {shown(message)} but must be a map; do both ends speak this form?")
    return message


def send(connection: socket.socket, message: Mapping[str, Any]) -> None:
    """Write one message."""
    connection.sendall(pack(message))


def receive(connection: socket.socket) -> dict[str, Any] | None:
    """Read one message; None where the other end has closed between two.

    Raises:
        DataError: the other end closed within one, or sent something else.
    """
    head = _read(connection, 4)
    if not head:
        return None
    length = int.from_bytes(head, "big") if len(head) == 4 else LARGEST + 1
    body = _read(connection, length) if length <= LARGEST else b""
    if len(body) != length:
        raise DataError(f"a message broke off or is too long ({len(body)} of {length} bytes); start both ends anew")
    return unpack(body)


def _read(connection: socket.socket, count: int) -> bytes:
    parts, missing = [], count
    while missing and (part := connection.recv(min(missing, 1 << 20))):
        parts.append(part)
        missing -= len(part)
    return b"".join(parts)


def _array_out(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray) and value.dtype.str in DTYPES:
        return {"dtype": value.dtype.str, "shape": list(value.shape), "data": value.tobytes()}
    raise TypeError(f"{type(value).__name__} has no form in a message")


def _array_in(value: dict[str, Any]) -> Any:
    if set(value) != {"dtype", "shape", "data"}:
        return value
    dtype, shape, data = value["dtype"], value["shape"], value["data"]
    whole = isinstance(shape, list) and all(isinstance(side, int) and side >= 0 for side in shape)
    if dtype not in DTYPES or not whole or math.prod(shape) * np.dtype(dtype).itemsize != len(data):
        raise ValueError(f"an array of type {shown(dtype)} and shape {shown(shape)} with {len(data)} bytes")
    array: NDArray[Any] = np.frombuffer(data, dtype).reshape(shape)
    return array
