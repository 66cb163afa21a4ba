"""Where a run's windows come from: a data set, one side of recorded pairs, or both sides together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from world_model.contract import Contract
from world_model.data import pair_manifest
from world_model.data.episode import Episode
from world_model.data.lerobot.reader import LeRobotDataset, read_dataset
from world_model.data.pair_manifest import PairManifest
from world_model.data.pairs import MANIFEST, read_pairs
from world_model.errors import DataError, InputError
from world_model.simforcing.pairs import PairWindows
from world_model.training.manifest_windows import ManifestSource
from world_model.training.state_encoding import Encoding
from world_model.training.windows import WindowConfig, Windows


@dataclass(frozen=True)
class Source:
    """Data sets of which the first ``episodes`` are used (0 for all), and which of them windows are cut from.

    ``more`` are further data sets under the contract and the state of the one data set.
    """

    sides: tuple[LeRobotDataset, ...]
    """The one data set, or the real and the simulated one."""
    side: str
    episodes: int
    more: tuple[LeRobotDataset, ...] = ()

    @property
    def contract(self) -> Contract:
        return self.sides[0].contract

    def counts(self) -> dict[str, int]:
        """Episodes and frames of the windows, which a resumed run must find again."""
        lengths = np.concatenate([data.lengths[: self._most or None] for data in (self._chosen(), *self.more)])
        return {"episodes": len(lengths), "frames": int(sum(lengths))}

    def windows(self, config: WindowConfig, state: Encoding) -> Windows:
        """Windows of the side, or of both."""
        if self.side != "pairs":
            return self._cut(self._chosen(), config, state, self.more)
        real, sim = (self._cut(data, config, state) for data in self.sides)
        return PairWindows(real, sim)

    def pictures(self, windows: Windows, most: int = 4000) -> Tensor:
        """Frames ``(N, H, W, 3)`` that a codec is fitted to: where there are two looks as many of both as can be."""
        if len(self.sides) == 1:
            return windows.frames
        sets = [_episodes(data, self._most if data is self.sides[0] else 0) for data in self.sides]
        return torch.cat([_some(episodes, most // 2) for episodes in sets])

    @property
    def _most(self) -> int:
        """Episodes of a data set that are used, 0 for all; of pairs no more than there are on both sides."""
        if self.side != "pairs":
            return self.episodes
        both = min(map(len, self.sides))
        return min(self.episodes or both, both)

    def _chosen(self) -> LeRobotDataset:
        return self.sides[1] if self.side == "sim" else self.sides[0]

    def _cut(
        self, data: LeRobotDataset, config: WindowConfig, state: Encoding, more: Sequence[LeRobotDataset] = ()
    ) -> Windows:
        episodes = [episode for one in (data, *more) for episode in _episodes(one, self._most)]
        return Windows(episodes, data.contract, config, state, data.state_names)


def open_source(paths: Path | Sequence[Path], side: str, episodes: int = 0) -> Source | ManifestSource:
    """Open data sets of one contract, a folder of recorded pairs, or a manifest of videos of pairs.

    Raises:
        ContractError: data sets have different contracts.
        DataError: one cannot be read, or has other state than the first.
        InputError: the recipe's side does not fit the folder, or several are given that are no data sets.
    """
    path, *others = [paths] if isinstance(paths, Path) else paths
    videos = (path / pair_manifest.MANIFEST).is_file()
    paired = videos or (path / MANIFEST).is_file()
    if paired != bool(side):
        has, wants = ("pairs", "one data set") if paired else ("no pairs", f"the side {side!r} of pairs")
        raise InputError(f"{path} holds {has} but the recipe is for {wants}; choose another recipe, or set side")
    if not paired:
        first = read_dataset(path)
        return Source((first,), side, episodes, tuple(_alike(first, path, other) for other in others))
    if others:
        raise InputError(f"{path} holds pairs, which are trained on alone; leave out {others[0]}")
    if videos:
        return ManifestSource(PairManifest(path), side, episodes)
    pairs = read_pairs(path)
    return Source((pairs.real, pairs.sim), side, episodes)


def _alike(first: LeRobotDataset, path: Path, other: Path) -> LeRobotDataset:
    """A further data set that can stand beside the first."""
    data = read_dataset(other)
    first.contract.require_same(data.contract, str(path), str(other))
    if data.state_names != first.state_names:
        raise DataError(f"{other} and {path} hold different state of their simulators; train on them one by one")
    return data


def _episodes(data: LeRobotDataset, most: int) -> Sequence[Episode]:
    return [data[i] for i in range(min(len(data), most or len(data)))]


def _some(episodes: Sequence[Episode], most: int) -> Tensor:
    """About ``most`` frames ``(N, H, W, 3)`` of the episodes, evenly spread."""
    each = max(1, most // len(episodes))
    return torch.from_numpy(np.concatenate([e.frames[:: max(1, len(e.frames) // each)] for e in episodes]))
