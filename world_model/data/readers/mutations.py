"""Seeded damage to files: what the fuzz does to them."""

from __future__ import annotations

import json
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import numpy as np

MOST_FLIPS = 16
LONGEST = 4096  # bytes of a splice
ODD: tuple[Any, ...] = (None, True, -1, 0, 1e308, 2**63, "", "../../x", [], {}, [[1, 2], [3]], float("nan"), "0:99999")
"""What JSON fields are replaced by."""


def flip(data: bytes, rng: np.random.Generator) -> bytes:
    """Turn over some bits."""
    out = bytearray(data)
    for at in rng.integers(0, len(out), rng.integers(1, MOST_FLIPS + 1)):
        out[at] ^= 1 << int(rng.integers(8))
    return bytes(out)


def truncate(data: bytes, rng: np.random.Generator) -> bytes:
    """Cut off the end."""
    return data[: int(rng.integers(0, len(data)))]


def splice(data: bytes, rng: np.random.Generator) -> bytes:
    """Copy a piece over another place, insert it there, or take it out; or fill it with zeros."""
    length = int(rng.integers(1, min(LONGEST, len(data)) + 1))
    source, target = (int(n) for n in rng.integers(0, len(data) - length + 1, 2))
    piece = data[source : source + length]
    ways = (
        data[:target] + piece + data[target + length :],
        data[:target] + piece + data[target:],
        data[:target] + data[target + length :],
        data[:target] + bytes(length) + data[target + length :],
    )
    return ways[int(rng.integers(len(ways)))]


def change_json(data: bytes, rng: np.random.Generator) -> bytes:
    """Swap two fields of a JSON file (or of lines of it), take one out, or replace it by something odd."""
    text = data.decode()
    lines = text.splitlines() if "\n{" in text else [text]
    number = int(rng.integers(len(lines)))
    loaded = json.loads(lines[number])
    places = list(_places(loaded))
    if not places:
        return flip(data, rng)
    (box, key), (other, second) = (places[int(n)] for n in rng.integers(0, len(places), 2))
    way = int(rng.integers(3))
    if way == 0:
        box[key], other[second] = other[second], box[key]
    elif way == 1:
        del box[key]
    else:
        box[key] = ODD[int(rng.integers(len(ODD)))]
    try:
        lines[number] = json.dumps(loaded)
    except (ValueError, RecursionError):  # a field was swapped into itself
        return flip(data, rng)
    return "\n".join(lines).encode()


MUTATIONS: MappingProxyType[str, Callable[[bytes, np.random.Generator], bytes]] = MappingProxyType(
    {"flip": flip, "truncate": truncate, "splice": splice, "json": change_json}
)
TEXTS = (".json", ".jsonl", ".zarray")


def mutate(data: bytes, name: str, rng: np.random.Generator) -> tuple[str, bytes]:
    """The kind of the damage and the damaged contents of a file called ``name``; never the same contents."""
    kinds = [kind for kind in MUTATIONS if kind != "json" or name.endswith(TEXTS)]
    if name.endswith(TEXTS):
        kinds += ["json"] * 3  # flips of a letter are soon all alike
    while True:
        kind = kinds[int(rng.integers(len(kinds)))]
        changed = MUTATIONS[kind](data, rng) if data else b"\0"
        if changed != data:
            return kind, changed


def _places(value: Any) -> Any:
    """Every (container, key) in nested JSON, of long lists the first few only."""
    items: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        items = list(value.items())
    elif isinstance(value, list):
        items = list(enumerate(value[:4]))
    for key, inner in items:
        yield value, key
        yield from _places(inner)
