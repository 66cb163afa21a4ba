"""IRASim's windows, as published: 16 frames, every start in training, every 16th in validation and test.

`world_model.training.windows` cuts what our trainer sees; these are for evaluation by the published protocol.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from world_model.data.readers.base import Reader
from world_model.data.readers.irasim import POSE, IrasimReader
from world_model.data.readers.poses import relative_poses
from world_model.errors import InputError


@dataclass(frozen=True)
class WindowRule:
    """Which windows are cut from an episode."""

    frames: int = 16
    stride: int = 1
    """Frames from the start of a window to the next."""
    interval: int = 1
    """Frames of the episode for each of the window (``sequence_interval``)."""
    accumulate: bool = False
    """Actions relative to the window's first frame (``accumulate_action``); for actions that follow from poses only."""
    history: int = 1
    """Frames that a model is given; windows may start ``history - 1`` frames before the episode, which are copies of
    its first with actions of 0. 1 is as published."""

    def __post_init__(self) -> None:
        if min(self.frames - 1, self.stride, self.interval, self.history) < 1 or self.history >= self.frames:
            raise InputError(
                f"{self} is no window; use 2 frames or more, the rest from 1, and less history than frames"
            )


RULES = MappingProxyType({"train": WindowRule(), "val": WindowRule(stride=16), "test": WindowRule(stride=16)})
"""As published, by split."""


@dataclass(frozen=True)
class Window:
    """Some frames of an episode and the actions between them."""

    episode: int
    first: int
    """First frame in the episode; below 0 where copies stand before it."""
    frames: NDArray[np.uint8]  # (F, H, W, 3)
    actions: NDArray[np.float32]  # (F - 1, a, A) in the contract's units


class PublishedWindows(Sequence[Window]):
    """All windows of a reader's episodes, or of those of one split; cut when they are asked for."""

    def __init__(self, reader: Reader, rule: WindowRule, split: str | None = None) -> None:
        self.reader, self.rule = reader, rule
        posed = isinstance(reader, IrasimReader) and reader.contract.proprio == POSE
        if not posed and (rule.accumulate or rule.interval > 1):
            raise InputError(
                f"actions of {reader.path} do not follow from poses; use interval 1 and leave accumulate out"
            )
        self._posed = posed
        self.places = [
            (episode, first)
            for episode in range(len(reader))
            if split in (None, reader.splits[episode])
            for first in window_starts(self._counted(episode), rule)
        ]

    def _counted(self, episode: int) -> int:
        """Frames that count: Language-Table's rule counts actions, one less."""
        length = len(self.reader.numbers(episode))
        return length - 1 if isinstance(self.reader, IrasimReader) and not self._posed else length

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, index: Any) -> Any:
        """Window ``index`` (errors as of the reader's episodes)."""
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        number, first = self.places[index]
        episode, rule = self.reader[number], self.rule
        rows = np.arange(rule.frames) * rule.interval + first
        inside = np.maximum(rows, 0)
        if self._posed:
            actions = relative_poses(episode.proprio[inside], rule.accumulate)[:, None]
        else:
            actions = episode.actions[inside[:-1]] * (rows[:-1] >= 0)[:, None, None]
        return Window(number, first, episode.frames[inside], actions.astype(np.float32))


def window_starts(length: int, rule: WindowRule) -> list[int]:
    """First frames of the windows of an episode of ``length`` frames."""
    last = length - (rule.frames - 1) * rule.interval
    return list(range(-(rule.history - 1) * rule.interval, last, rule.stride))
