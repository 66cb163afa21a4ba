"""A checkpoint's own frames as examples for its heads, each with the truth of its moment."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch

from world_model.data.episode import Episode
from world_model.heads.examples import Examples
from world_model.metrics.clips import cut_clips
from world_model.metrics.rollouts import generate
from world_model.rollout import Rollout

_BATCH = 64  # clips generated at once


def generated_examples(
    rollout: Rollout,
    episodes: Sequence[Episode],
    count: int,
    frames: int,
    generator: np.random.Generator,
    progress: Callable[[int], None] = lambda done: None,
    states: bool = False,
) -> Examples:
    """Frames that follow the true actions of ``count`` clips (fewer where the episodes hold fewer), open-loop.

    With ``states`` the model's states stand in the frames' place.

    Raises:
        DataError: no episode is long enough.
    """
    clips = cut_clips(episodes, rollout.history, frames, -(-count // len(episodes)), generator)
    order = np.sort(generator.permutation(len(clips))[:count])
    parts = []
    for rows in np.split(order, range(_BATCH, len(order), _BATCH)):
        some = clips.select(rows)
        made = generate(rollout, some, some.future, generator.integers(0, 2**31, len(some)))
        labels = {name: torch.from_numpy(v[:, some.history :].flatten()) for name, v in some.labels.items()}
        pictures = torch.from_numpy(made.frames).flatten(0, 1)
        state = None if made.state is None or not states else made.state.flatten(0, 1)
        if state is not None:
            pictures = pictures.new_empty(len(pictures), 0)
        parts.append(Examples(pictures, made.normalized_proprio.flatten(0, 1), labels, state))
        progress(sum(len(part) for part in parts) // frames)
    return Examples.join(parts)
