"""Pairs: the same actions from the same start in both domains of a world.

A folder of pairs holds two LeRobot data sets, ``sim/`` and ``real/``, whose episodes of one number belong together (the
one that was recorded first may hold more, without counterpart), and ``pairs.json``, which names for every pair its
start, the seed and the drawn values of its appearance, its length and a hash of start and actions.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args, overload

import numpy as np
from numpy.typing import NDArray

from world_model.data.episode import Episode
from world_model.data.lerobot.reader import LeRobotDataset, read_dataset
from world_model.data.lerobot.writer import write_text
from world_model.errors import DataError, InputError

Domain = Literal["sim", "real"]
DOMAINS: tuple[Domain, ...] = get_args(Domain)
MANIFEST = "pairs.json"
VERSION = 1


@dataclass(frozen=True)
class Pair:
    """Two aligned episodes: observation i of both follows the same actions from the same start.

    Raises:
        InputError: they are not of the same start and actions.
    """

    sim: Episode
    real: Episode
    appearance: Mapping[str, Any] = field(default_factory=dict)
    """What was drawn for the look and physics of the real side, as JSON values; empty where nothing is drawn."""

    def __post_init__(self) -> None:
        if self.sim.start != self.real.start or not np.array_equal(self.sim.actions, self.real.actions):
            raise InputError(
                f"episodes of starts {self.sim.start!r} and {self.real.start!r} with {len(self.sim)} and "
                f"{len(self.real)} frames are not a pair; play the same actions from the same start"
            )

    @property
    def actions(self) -> NDArray[np.float32]:
        """Actions ``(T - 1, a, A)`` of both."""
        return self.sim.actions

    def __len__(self) -> int:
        """Number of observations T."""
        return len(self.sim)


@dataclass(frozen=True)
class Seeded:
    """An appearance and the seed that it was drawn from."""

    seed: int
    appearance: Mapping[str, Any]


def pair_hash(start: str, actions: NDArray[np.float32]) -> str:
    """Hash of what both sides of a pair share."""
    digest = hashlib.sha256(start.encode())
    digest.update(np.ascontiguousarray(actions, np.float32).tobytes())
    return digest.hexdigest()[:16]


def write_pairs(folder: Path, world: str, source: Domain, looks: Sequence[Seeded]) -> None:
    """Hold the two recorded sides against each other and write the manifest.

    Args:
        source: the side whose actions were played again on the other.
        looks: for each episode that was played again; of the source there may be more.

    Raises:
        DataError: the sides differ in number, starts, lengths or actions of their episodes.
    """
    sides = {domain: read_dataset(folder / domain) for domain in DOMAINS}
    sides["real"].contract.require_same(sides["sim"].contract, str(folder / "real"), str(folder / "sim"))
    if not _complete(sides, source, len(looks)):
        raise DataError(
            f"{folder} holds {len(sides['sim'])} episodes in sim, {len(sides['real'])} in real and {len(looks)} "
            "appearances; record the pairs to their end"
        )
    pairs = []
    for number, look in enumerate(looks):
        start, hashed = sides["sim"].starts[number], _hash(sides["sim"], number)
        if (start, hashed) != (sides["real"].starts[number], _hash(sides["real"], number)):
            raise DataError(f"episode {number} of {folder} is not the same in sim and real; record the pairs anew")
        length = int(sides["sim"].lengths[number])
        appearance = {"seed": look.seed, "appearance": dict(look.appearance)}
        pairs.append({"episode": number, "start": start, **appearance, "length": length, "hash": hashed})
    manifest = {"version": VERSION, "world": world, "source": source, "contract": sides["sim"].contract.hash}
    write_text(folder / MANIFEST, json.dumps({**manifest, "pairs": pairs}, indent=1))


def read_pairs(folder: Path | str) -> PairedDataset:
    """Open recorded pairs; frames are decoded when a pair is asked for.

    Raises:
        DataError: the manifest or a side is missing, damaged, or they do not fit together.
    """
    return PairedDataset(Path(folder))


class PairedDataset(Sequence[Pair]):
    """Pairs of one folder, by number; see `read_pairs`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        manifest = _read_manifest(path / MANIFEST)
        self.world: str = manifest["world"]
        self.source: Domain = manifest["source"]
        self.entries: list[dict[str, Any]] = manifest["pairs"]
        self.sim, self.real = read_dataset(path / "sim"), read_dataset(path / "real")
        self.contract = self.sim.contract
        self.real.contract.require_same(self.contract, str(path / "real"), str(path / "sim"))
        if not _complete({"sim": self.sim, "real": self.real}, self.source, len(self.entries)):
            raise DataError(
                f"{path / MANIFEST} lists {len(self.entries)} pairs but there are {len(self.sim)} episodes in sim and "
                f"{len(self.real)} in real; copy the pairs again"
            )

    def __len__(self) -> int:
        return len(self.entries)

    @overload
    def __getitem__(self, index: int) -> Pair: ...

    @overload
    def __getitem__(self, index: slice) -> list[Pair]: ...

    def __getitem__(self, index: int | slice) -> Pair | list[Pair]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        number = index + len(self) if index < 0 else index
        if not 0 <= number < len(self):
            raise IndexError(f"pair {index} of {len(self)}")
        sides = {"sim": self.sim[number], "real": self.real[number]}
        for name, episode in sides.items():
            if pair_hash(episode.start, episode.actions) != self.entries[number]["hash"]:
                raise DataError(f"episode {number} of {self.path / name} is not the one of the pair; copy it again")
        return Pair(**sides, appearance=self.entries[number]["appearance"])


def _complete(sides: Mapping[Domain, LeRobotDataset], source: Domain, pairs: int) -> bool:
    """Whether both sides hold all pairs, and the one that was played again nothing else."""
    return all(len(data) >= pairs if domain == source else len(data) == pairs for domain, data in sides.items())


def _hash(side: LeRobotDataset, number: int) -> str:
    """Hash of an episode, read without its frames."""
    return pair_hash(side.starts[number], side.actions(number))


def _read_manifest(path: Path) -> dict[str, Any]:
    try:
        manifest = json.loads(path.read_text())
        version = manifest["version"]
        if version == VERSION and {"world", "source", "pairs"} <= set(manifest):
            return dict(manifest)
    except FileNotFoundError as error:
        raise DataError(f"there is no {path}; record pairs to their end with: simforcing pairs") from error
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(f"{path} is not a manifest of pairs ({error}); copy it again") from error
    raise DataError(f"{path} is of version {version}, not {VERSION}; record the pairs again")
