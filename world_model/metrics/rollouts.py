"""Open-loop rollouts of true clips: how close the frames stay, and whether the actions are what moves them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from world_model.errors import InputError
from world_model.metrics.clips import Clips
from world_model.rollout import Generated, Rollout

SHIFTS = (-1, 0, 1)
FOLLOWING = 16  # frames over which action following is averaged


def generate(rollout: Rollout, clips: Clips, actions: NDArray[np.float32], seeds: NDArray[np.int64]) -> Generated:
    """Frames for ``actions`` ``(B, n, a, A)`` after the true history of each clip."""
    h = clips.history
    state = rollout.start(clips.frames[:, :h], clips.proprio[:, :h], seeds, clips.actions[:, : h - 1])
    return rollout.advance(state, actions)[1]


def shuffled_actions(clips: Clips, generator: np.random.Generator) -> NDArray[np.float32]:
    """Each clip's future actions replaced by those of a clip from another episode: ``(B, n, a, A)``.

    Each clip's serve once, unless more than half of the clips are from one episode.

    Raises:
        InputError: all clips are from one episode.
    """
    episodes, index, counts = np.unique(clips.group, return_inverse=True, return_counts=True)
    most = int(counts.max())
    if len(episodes) < 2:
        raise InputError(f"all {most} clips are from one episode, so actions cannot be swapped; give more episodes")
    if 2 * most > len(clips):
        others = [np.flatnonzero(index != own) for own in range(len(episodes))]
        return clips.future[np.array([generator.choice(others[own]) for own in index], np.intp)]
    place = generator.permutation(len(episodes))[index]
    grouped = np.argsort(
        place, kind="stable"
    )  # an episode's clips stand together: the next ones but `most` are others'
    order = np.empty(len(clips), np.intp)
    order[grouped] = np.roll(grouped, -most)
    return clips.future[order]


def shifted_actions(clips: Clips, shift: int) -> NDArray[np.float32]:
    """Future actions taken ``shift`` frames later (earlier if negative); the clip's ends repeat: ``(B, n, a, A)``."""
    rows = clips.history - 1 + np.arange(clips.horizon) + shift
    return clips.actions[:, np.clip(rows, 0, clips.actions.shape[1] - 1)]
