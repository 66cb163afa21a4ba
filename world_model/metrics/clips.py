"""Held-out windows of true episodes: some history, then frames that a model has to generate."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from world_model.data.episode import Episode
from world_model.errors import DataError


@dataclass(frozen=True)
class Clips:
    """B windows of ``history + horizon`` frames; the generated part begins at frame index ``history``."""

    history: int
    frames: NDArray[np.uint8]  # (B, h + n, H, W, 3)
    proprio: NDArray[np.float32]  # (B, h + n, P) in units
    actions: NDArray[np.float32]  # (B, h + n - 1, a, A) in units; i leads from frame i to i + 1
    state: NDArray[np.float64] | None  # (B, h + n, S) of the teacher
    labels: Mapping[str, NDArray[np.float32]]  # (B, h + n) each
    episode: NDArray[np.int64]  # (B,) number of the episode that a window is from
    first: NDArray[np.int64]  # (B,) its first frame there
    start: tuple[str, ...]
    behaviour: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.frames)

    @property
    def group(self) -> NDArray[np.int64]:
        """Number ``(B,)`` of what a window is from: windows of one origin are not independent of each other."""
        names = [origin_of(start) or str(number) for start, number in zip(self.start, self.episode, strict=True)]
        return np.unique(names, return_inverse=True)[1]

    @property
    def horizon(self) -> int:
        """Frames to generate, n."""
        return self.frames.shape[1] - self.history

    @property
    def truth(self) -> NDArray[np.uint8]:
        """True frames ``(B, n, H, W, 3)`` of the generated part."""
        return self.frames[:, self.history :]

    @property
    def last(self) -> NDArray[np.uint8]:
        """Last known frame ``(B, 1, H, W, 3)``."""
        return self.frames[:, self.history - 1 : self.history]

    @property
    def future(self) -> NDArray[np.float32]:
        """True actions ``(B, n, a, A)`` of the generated part."""
        return self.actions[:, self.history - 1 :]

    def knowing(self, count: int) -> Clips:
        """The same windows with only the last ``count`` of the known frames."""
        gone = self.history - count
        return Clips(
            count,
            self.frames[:, gone:],
            self.proprio[:, gone:],
            self.actions[:, gone:],
            None if self.state is None else self.state[:, gone:],
            {name: values[:, gone:] for name, values in self.labels.items()},
            self.episode,
            self.first + gone,
            self.start,
            self.behaviour,
        )

    def select(self, rows: NDArray[np.intp] | NDArray[np.bool_]) -> Clips:
        """The given windows."""
        order = np.flatnonzero(rows) if rows.dtype == bool else rows
        return Clips(
            self.history,
            self.frames[order],
            self.proprio[order],
            self.actions[order],
            None if self.state is None else self.state[order],
            {name: values[order] for name, values in self.labels.items()},
            self.episode[order],
            self.first[order],
            tuple(self.start[i] for i in order),
            tuple(self.behaviour[i] for i in order),
        )


def cut_clips(
    episodes: Iterable[Episode],
    history: int,
    horizon: int,
    per_episode: int,
    generator: np.random.Generator,
    fewest: int = 1,
) -> Clips:
    """Up to ``per_episode`` windows from each episode, at random places that do not share generated frames.

    Raises:
        DataError: fewer than ``fewest`` episodes are long enough.
    """
    pieces: list[tuple[int, int, Episode]] = []
    for number, episode in enumerate(episodes):
        spare = len(episode) - history - horizon  # places beyond the first
        if spare < 0:
            continue
        count = min(per_episode, 1 + spare // horizon)
        slack = spare - (count - 1) * horizon
        places = np.sort(generator.integers(0, slack + 1, count)) + horizon * np.arange(count)
        pieces += [(number, int(place), episode) for place in places]
    _check_enough(pieces, history, horizon, fewest)
    return _stacked(pieces, history, horizon)


def cut_windows(episodes: Iterable[Episode], history: int, horizon: int, stride: int, fewest: int = 1) -> Clips:
    """Every window that begins ``stride`` frames after the one before and lies wholly in its episode.

    Raises:
        DataError: fewer than ``fewest`` episodes are long enough.
    """
    length = history + horizon
    pieces = [
        (number, place, episode)
        for number, episode in enumerate(episodes)
        for place in range(0, len(episode) - length + 1, stride)
    ]
    _check_enough(pieces, history, horizon, fewest)
    return _stacked(pieces, history, horizon)


def _check_enough(pieces: Sequence[tuple[int, int, Episode]], history: int, horizon: int, fewest: int) -> None:
    if (found := len({number for number, _, _ in pieces})) < fewest:
        raise DataError(
            f"{found or 'no'} episode{'s have' if found > 1 else ' has'} {history + horizon} frames, which {history} "
            f"of history and {horizon} generated ones need, and at least {fewest} must; "
            "record more or longer episodes, or ask for fewer frames"
        )


def _stacked(pieces: Sequence[tuple[int, int, Episode]], history: int, horizon: int) -> Clips:
    """Windows at (episode number, first frame, episode)."""
    length = history + horizon
    stateful = all(e.state is not None for _, _, e in pieces)
    names = set.intersection(*(set(e.labels) for _, _, e in pieces))
    return Clips(
        history,
        np.stack([e.frames[p : p + length] for _, p, e in pieces]),
        np.stack([e.proprio[p : p + length] for _, p, e in pieces]),
        np.stack([e.actions[p : p + length - 1] for _, p, e in pieces]),
        np.stack([np.asarray(e.state[p : p + length], np.float64) for _, p, e in pieces if e.state is not None])
        if stateful
        else None,
        {name: np.stack([e.labels[name][p : p + length] for _, p, e in pieces]) for name in sorted(names)},
        np.array([number for number, _, _ in pieces]),
        np.array([place for _, place, _ in pieces]),
        tuple(e.start for _, _, e in pieces),
        tuple(e.behaviour for _, _, e in pieces),
    )


MOMENT = re.compile(r"^(human-\d+)-\d+$")


def origin_of(start: str) -> str:
    """A start's name without the frame that it begins at: "human-42-35" is a moment of demonstration "human-42"."""
    return MOMENT.sub(r"\1", start)


def group_means(values: NDArray[np.floating], groups: NDArray[np.int64]) -> NDArray[np.float64]:
    """Means ``(G,)`` of ``(B,)`` values over each of the groups ``(B,)`` that occur, such as `Clips.group`."""
    _, index = np.unique(groups, return_inverse=True)
    return np.bincount(index, weights=values) / np.bincount(index)
