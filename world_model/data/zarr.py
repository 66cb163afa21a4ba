"""Reader of zarr v2 arrays on disk: uncompressed or Blosc (zstd, lz4, zlib), as Push-T's data come."""

from __future__ import annotations

import itertools
import json
import math
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from world_model.errors import DataError

CODECS = {1: "lz4_raw", 3: "zlib", 4: "zstd"}  # Blosc's format numbers
LARGEST = 4 * 1024**3
"""Bytes that are read at once."""
MOST_CHUNKS = 1_000_000
SHUFFLE, STORED, BITSHUFFLE, WHOLE = 0x1, 0x2, 0x4, 0x10  # bits of a Blosc header's flags


def read_zarr_array(folder: Path, rows: slice | None = None) -> NDArray[Any]:
    """One whole array, or some ``rows`` of it, of which only the chunks that hold them are read.

    Raises:
        DataError: no such array, a form that is not read here, or a damaged chunk (it is named).
    """
    meta_file = folder / ".zarray"
    try:
        meta = json.loads(meta_file.read_text())
        shape, chunks = tuple(meta["shape"]), tuple(meta["chunks"])
        dtype, order, compressor = np.dtype(meta["dtype"]), meta["order"], meta["compressor"]
    except FileNotFoundError as error:
        raise DataError(f"{folder} is not a zarr v2 array: {meta_file.name} is missing; check the path") from error
    except (ValueError, KeyError, TypeError, OSError, RecursionError) as error:
        raise DataError(f"{meta_file} is not readable ({error}); copy the data set again") from error
    if meta.get("zarr_format") != 2 or meta.get("filters") or dtype.hasobject:
        found = f"format {meta.get('zarr_format')}, type {dtype}, filters {meta.get('filters')}"
        raise DataError(f"{folder} is zarr {found}; only format 2 of plain numbers without filters is read")
    if compressor is not None and compressor.get("id") != "blosc":
        raise DataError(f"{folder} is compressed by {compressor.get('id')!r}; only blosc and no compression are read")
    _check_shape(meta_file, shape, chunks, dtype)
    first, last = (0, shape[0]) if rows is None else (rows.start, min(rows.stop, shape[0]))
    if not 0 <= first <= last or (last - first) * math.prod(shape[1:]) * dtype.itemsize > LARGEST:
        raise DataError(
            f"{folder} is {dtype} {shape} and too large to be read whole; it is damaged or no array of ours"
        )
    try:
        out = np.full((last - first, *shape[1:]), meta.get("fill_value") or 0, dtype)
    except (ValueError, TypeError, OverflowError) as error:
        raise DataError(f"{meta_file} is not readable ({error}); copy the data set again") from error
    separator = str(meta.get("dimension_separator", "."))
    grid = [range(-(-n // c)) for n, c in zip(shape, chunks, strict=True)]
    grid[0] = range(first // chunks[0], -(-last // chunks[0]))
    for index in itertools.product(*grid):
        file = folder / separator.join(map(str, index))
        if not file.exists():  # zarr leaves out chunks that hold the fill value only
            continue
        raw = file.read_bytes()
        try:
            plain = raw if compressor is None else blosc_decode(raw, math.prod(chunks) * dtype.itemsize)
            chunk = np.frombuffer(plain, dtype).reshape(chunks, order=order)
        except (ValueError, OSError, struct.error, zlib.error, KeyError, MemoryError) as error:
            raise DataError(f"chunk {file} is damaged ({error}); copy it again") from error
        where = [slice(i * c, min((i + 1) * c, n)) for i, c, n in zip(index, chunks, shape, strict=True)]
        inside = [slice(0, s.stop - s.start) for s in where]
        low, high = max(where[0].start, first), min(where[0].stop, last)
        inside[0] = slice(low - where[0].start, high - where[0].start)
        where[0] = slice(low - first, high - first)
        out[tuple(where)] = chunk[tuple(inside)]
    return out


def zarr_shape(folder: Path) -> tuple[int, ...]:
    """Shape of an array, from its metadata.

    Raises:
        DataError: no such array, or damaged metadata.
    """
    meta_file = folder / ".zarray"
    try:
        return tuple(int(n) for n in json.loads(meta_file.read_text())["shape"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"{meta_file} is missing or not readable ({error}); copy the data set again") from error


def _check_shape(path: Path, shape: tuple[Any, ...], chunks: tuple[Any, ...], dtype: np.dtype[Any]) -> None:
    """Refuse sizes that are none, and more chunks than any data set has."""
    whole = all(isinstance(n, int) and not isinstance(n, bool) for n in (*shape, *chunks))
    if not whole or not shape or len(shape) != len(chunks) or min(shape) < 0 or min(chunks) < 1:
        raise DataError(f"{path} tells of shape {shape} in chunks {chunks}; it is damaged, copy the data set again")
    count = math.prod(-(-n // c) for n, c in zip(shape, chunks, strict=True))
    if count > MOST_CHUNKS or math.prod(chunks) * dtype.itemsize > LARGEST:
        raise DataError(f"{path} tells of {count} chunks of {chunks}; it is damaged, copy the data set again")


def blosc_decode(raw: bytes, expected: int | None = None) -> bytes:
    """Decompress one Blosc 1 buffer, of ``expected`` bytes where that is known.

    Raises:
        ValueError: truncated, or of a codec that is not read here.
    """
    if len(raw) < 16:
        raise ValueError(f"{len(raw)} bytes are less than a Blosc header")
    flags, width = raw[2], raw[3]
    size, block, total = struct.unpack_from("<III", raw, 4)
    if total != len(raw):
        raise ValueError(f"{len(raw)} bytes instead of {total}")
    if expected is not None and size != expected:
        raise ValueError(f"a buffer of {size} bytes instead of {expected}")
    if size and not 0 < block <= size:
        raise ValueError(f"blocks of {block} bytes")
    if flags & STORED:
        return raw[16 : 16 + size]
    if size == 0:
        return b""
    codec = CODECS.get(flags >> 5)
    if codec is None:
        raise ValueError(f"Blosc codec number {flags >> 5}")
    starts = struct.unpack_from(f"<{-(-size // block)}I", raw, 16)
    out = []
    for i, start in enumerate(starts):
        length = min(block, size - i * block)
        # Short blocks and those of some codecs are cut into one stream per byte of an element.
        split = not flags & WHOLE and length == block and 1 < width <= 16
        plain = _streams(raw, start, length, width if split else 1, codec)
        out.append(_unshuffle(plain, width, flags))
    return b"".join(out)


def _streams(raw: bytes, at: int, length: int, count: int, codec: str) -> bytes:
    parts = []
    for _ in range(count):
        (packed,) = struct.unpack_from("<i", raw, at)
        body = raw[at + 4 : at + 4 + packed]
        at += 4 + packed
        wanted = length // count
        if packed == wanted:
            parts.append(body)
        elif codec == "zlib":
            parts.append(zlib.decompress(body))
        else:
            parts.append(bytes(pa.Codec(codec).decompress(body, decompressed_size=wanted)))
    plain = b"".join(parts)
    if len(plain) != length:
        raise ValueError(f"a block of {len(plain)} bytes instead of {length}")
    return plain


def _unshuffle(plain: bytes, width: int, flags: int) -> bytes:
    if flags & BITSHUFFLE:
        count = len(plain) // width
        if count % 8:  # Blosc 1 leaves such blocks as they are
            return plain
        bits = np.frombuffer(plain[: count * width], np.uint8).reshape(width, 8, count // 8)
        squares = np.ascontiguousarray(bits.transpose(0, 2, 1)).view("<u8")[..., 0]  # 8 bits of 8 elements each
        byte_planes = _transposed(squares)[..., None].view(np.uint8).reshape(width, count)
        return byte_planes.T.tobytes() + plain[count * width :]
    if flags & SHUFFLE and width > 1:
        count = len(plain) // width
        planes = np.frombuffer(plain[: count * width], np.uint8).reshape(width, count)
        return planes.T.tobytes() + plain[count * width :]
    return plain


def _transposed(squares: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Matrices of 8 x 8 bits, one a number, transposed: blocks of 1, 2 and 4 bits change sides in turn."""
    for distance, mask in ((7, 0x00AA00AA00AA00AA), (14, 0x0000CCCC0000CCCC), (28, 0x00000000F0F0F0F0)):
        swap = (squares ^ (squares >> np.uint64(distance))) & np.uint64(mask)
        squares = squares ^ swap ^ (swap << np.uint64(distance))
    return squares
