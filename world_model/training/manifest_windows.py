"""Training windows of a manifest of videos: decoded when they are drawn, so that data of any size can be used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from world_model.contract import Contract
from world_model.data.pair_manifest import PairedVideos, PairManifest, Side
from world_model.errors import DataError, InputError
from world_model.simforcing.pairs import PairWindows
from world_model.training.state_encoding import Encoding
from world_model.training.windows import WindowConfig, Windows


class VideoRows:
    """Stands for the frames ``(N, H, W, 3)`` of all episodes one after another; ``rows[numbers]`` decodes them."""

    device = torch.device("cpu")

    def __init__(self, manifest: PairManifest, entries: Sequence[PairedVideos], side: Side) -> None:
        self.manifest, self.entries, self.side = manifest, entries, side
        lengths = np.array([entry.frames for entry in entries])
        self.ends = np.cumsum(lengths)
        self.starts = self.ends - lengths

    def __len__(self) -> int:
        return int(self.ends[-1])

    def __getitem__(self, rows: Any) -> Tensor:
        """``(..., H, W, 3)`` uint8 of a tensor of numbers ``(..., T)`` in which each last axis is of one episode."""
        if isinstance(rows, slice):
            rows = torch.arange(len(self))[rows][:, None]
            return self[rows][:, 0]
        flat = rows.reshape(-1, rows.shape[-1]).numpy()
        made = torch.stack([self._decoded(numbers) for numbers in flat])
        return made.reshape(*rows.shape, *made.shape[2:])

    def _decoded(self, numbers: Any) -> Tensor:
        episode = int(np.searchsorted(self.ends, numbers[0], side="right"))
        within = numbers - self.starts[episode]
        first, last = int(within.min()), int(within.max())
        frames = self.manifest.read(self.entries[episode], self.side, first, last - first + 1)
        return torch.from_numpy(frames)[torch.from_numpy(within - first)]


class ManifestWindows(Windows):
    """`Windows` of one side of a manifest; frames of padding are not decoded again."""

    def __init__(
        self, manifest: PairManifest, entries: Sequence[PairedVideos], side: Side, config: WindowConfig
    ) -> None:
        usable = [entry for entry in entries if entry.frames > config.length - config.history]
        if not usable:
            longest = max(entry.frames for entry in entries)
            raise DataError(
                f"no episode of {manifest.folder} is long enough for windows of {config.length} frames (the longest "
                f"has {longest}); add longer ones or shorten the window"
            )
        contract, self.config, self.state = manifest.contract, config, None
        arrays = [manifest.arrays(entry) for entry in usable]
        self.frames: Any = VideoRows(manifest, usable, side)
        self.proprio = torch.from_numpy(contract.normalize_proprio(np.concatenate([state for state, _ in arrays])))
        actions = np.concatenate([action for _, action in arrays])[:, None]  # (N, 1, A)
        self.actions = torch.from_numpy(contract.normalize_actions(actions))
        self._index(np.array([entry.frames for entry in usable]))
        self.text = _texts(manifest, usable, self.frames.ends)


@dataclass(frozen=True)
class _Texts:
    """Prompts by the first row of an episode."""

    each: Tensor  # (K, L, E)
    number: Tensor  # (episodes,) which of them
    ends: Tensor

    def __call__(self, rows: Tensor) -> Tensor:
        return self.each[self.number[torch.searchsorted(self.ends, rows, right=True)]]


def _texts(manifest: PairManifest, entries: Sequence[PairedVideos], ends: Any) -> _Texts | None:
    names = sorted({entry.text for entry in entries if entry.text is not None})
    if not names:
        return None
    first = {entry.text: entry for entry in reversed(entries)}
    read = [manifest.text(first[name]) for name in names]
    shapes = {tuple(text.shape) for text in read if text is not None}
    if None in first or len(shapes) != 1:
        raise DataError(
            f"prompts of {manifest.folder} are of shapes {sorted(shapes)} and {'some' if None in first else 'none'} "
            "are missing; embed all of them, padded to one length with zeros"
        )
    number = torch.tensor([names.index(str(entry.text)) for entry in entries])
    return _Texts(torch.stack([text for text in read if text is not None]), number, torch.from_numpy(np.asarray(ends)))


@dataclass(frozen=True)
class ManifestSource:
    """As `sources.Source`, of a manifest."""

    manifest: PairManifest
    side: str
    episodes: int

    @property
    def contract(self) -> Contract:
        return self.manifest.contract

    def counts(self) -> dict[str, int]:
        """See `Source.counts`."""
        used = self._used()
        return {"episodes": len(used), "frames": sum(entry.frames for entry in used)}

    def windows(self, config: WindowConfig, state: Encoding) -> Windows:
        """See `Source.windows`.

        Raises:
            InputError: the recipe learns a teacher's state, which videos have not.
        """
        if state.dim:
            raise InputError("the recipe learns a teacher's state but a manifest of videos has none; leave it out")
        if self.side != "pairs":
            return self._cut("sim" if self.side == "sim" else "real", config)
        return PairWindows(self._cut("real", config), self._cut("sim", config))

    def pictures(self, windows: Windows, most: int = 256) -> Tensor:
        """See `Source.pictures`; the first frames of up to ``most`` videos of both sides."""
        used = self._used()[: most // 2]
        frames = [self.manifest.read(entry, side, 0, 1) for entry in used for side in ("sim", "real")]  # type: ignore[arg-type]
        return torch.from_numpy(np.concatenate(frames))

    def _used(self) -> list[PairedVideos]:
        return self.manifest.entries[: self.episodes or None]

    def _cut(self, side: Side, config: WindowConfig) -> Windows:
        return ManifestWindows(self.manifest, self._used(), side, config)
