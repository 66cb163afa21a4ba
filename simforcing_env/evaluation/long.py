"""IRASim's long protocol: whole episodes from their first frame, chunk after chunk on what was generated."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from simforcing_env.evaluation.tracks import Track, frame_measures, latent_l2, track_metrics
from world_model.data.episode import Episode
from world_model.metrics.clips import origin_of
from world_model.metrics.image import psnr
from world_model.metrics.lpips import Lpips
from world_model.results import Metric
from world_model.rollout import Carry, Generated, Rollout

ROWS = 16  # episodes generated at once


def padded_actions(actions: NDArray[np.float32], chunk: int, length: int) -> NDArray[np.float32]:
    """``(T, a, A)`` actions continued to ``length``: what is left after whole chunks repeats its first action.

    So the published script fills its last chunk. An episode of whole chunks goes on with its last action; frames beyond
    an episode's own count for nothing.
    """
    left = len(actions) % chunk
    repeated = actions[-left] if left else actions[-1]
    return np.concatenate([actions, np.broadcast_to(repeated, (length - len(actions), *actions.shape[1:]))])


def carrying(rollout: Rollout, carry: Carry, chunk: int) -> Rollout:
    """The same rollout with another rule of what becomes history and at most ``chunk`` frames a call."""
    return Rollout(
        rollout.model,
        rollout.codec,
        rollout.contract,
        rollout.sampler,
        rollout.history,
        max_frames=chunk,
        runtime=rollout.runtime,
        carry=carry,
    )


def generate_whole(rollout: Rollout, episodes: Sequence[Episode], seeds: NDArray[np.int64], chunk: int) -> Generated:
    """Frames for every action of the longest of some episodes, filled up to whole chunks of ``chunk`` actions.

    A model that takes whole chunks gets them one by one if the rollout's ``max_frames`` is ``chunk``.
    """
    longest = max(len(e) for e in episodes) - 1
    length = -(-longest // chunk) * chunk
    actions = np.stack([padded_actions(e.actions, chunk, length) for e in episodes])
    state = rollout.start(np.stack([e.frames[0] for e in episodes]), np.stack([e.proprio[0] for e in episodes]), seeds)
    return rollout.advance(state, actions)[1]


def evaluate_long(
    rollout: Rollout,
    episodes: Sequence[Episode],
    chunk: int,
    lpips: Lpips | None,
    generator: np.random.Generator,
    other: Rollout | None = None,
    progress: Callable[[int], None] = lambda done: None,
) -> list[Track]:
    """Every episode of two frames and more from its first frame alone under its recorded actions, in their order.

    Frame t is held against true frame t. ``other`` is the same rollout under the other rule of what is carried; its
    PSNR stands beside as "psnr_8bit_carry".
    """
    order = [int(i) for i in np.argsort([len(e) for e in episodes], kind="stable") if len(episodes[i]) > 1]
    seeds = generator.integers(0, 2**31, len(episodes))
    origins = [origin_of(e.start) or str(i) for i, e in enumerate(episodes)]
    groups = np.unique(origins, return_inverse=True)[1]
    found: dict[int, Track] = {}
    for batch in (order[i : i + ROWS] for i in range(0, len(order), ROWS)):
        some = [episodes[i] for i in batch]
        made = generate_whole(rollout, some, seeds[batch], chunk)
        beside = generate_whole(other, some, seeds[batch], chunk).frames if other else None
        for row, (index, episode) in enumerate(zip(batch, some, strict=True)):
            count, truth = len(episode) - 1, episode.frames[1:]
            frames = made.frames[row, :count]
            curves = frame_measures(frames, truth, lpips, grey=False)
            curves["latent_l2"] = latent_l2(rollout.codec, made.sampled[row, :count], truth)
            curves["psnr_copy"] = psnr(np.broadcast_to(episode.frames[:1], truth.shape), truth)
            if beside is not None:
                curves["psnr_8bit_carry"] = psnr(beside[row, :count], truth)
            group, known = int(groups[index]), episode.frames[0]
            found[index] = Track(episode.start, episode.behaviour, group, 0, known, truth, frames, curves)
            progress(len(found))
    return [found[i] for i in sorted(found)]


def long_metrics(tracks: Sequence[Track], horizons: Sequence[int], generator: np.random.Generator) -> dict[str, Metric]:
    """Means over episodes of their means over frames, and at single frames of those that are long enough."""
    found = track_metrics(tracks, horizons, generator)
    lengths = np.array([len(track) for track in tracks], np.float64)
    found["episodes"] = Metric(float(len(tracks)), n=len({track.group for track in tracks}))
    found["frames_per_episode"] = Metric(float(lengths.mean()), n=len(tracks), unit="frames")
    return found
