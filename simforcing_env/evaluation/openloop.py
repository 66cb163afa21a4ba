"""Whole true episodes replayed in the learned simulator: do they end as they did?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from world_model.data.episode import Episode
from world_model.interface import Heads
from world_model.metrics.agreement import cohen_kappa
from world_model.metrics.calibration import auroc, brier
from world_model.metrics.resampling import grouped_interval
from world_model.pretrained import LearnedSimulator
from world_model.results import Metric
from world_model.rollout import Rollout

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Replay:
    """One episode's success by frame, from its first generated frame on."""

    start: str
    behaviour: str
    task: int
    truth: Array  # (n,) 0 or 1
    generated: Array  # (n,) the heads' probability on generated frames
    on_truth: Array  # (n,) the heads' probability on the true frames
    frames: NDArray[np.uint8]  # (n, H, W, 3) generated


def replay(
    simulator: LearnedSimulator,
    rollout: Rollout,
    episodes: Sequence[Episode],
    generator: np.random.Generator,
    progress: Callable[[int], None] = lambda done: None,
    rows: int = 16,
) -> list[Replay]:
    """Every episode from its first frame alone under its recorded actions; ``rows`` of them at once.

    Shorter ones of a batch go on with their last action, and what comes after their end is left out.
    """
    heads: Any = simulator.heads
    order = np.argsort([len(e) for e in episodes], kind="stable")
    seeds = generator.integers(0, 2**31, len(episodes))
    found: dict[int, Replay] = {}
    for batch in np.split(order, range(rows, len(order), rows)):
        some = [episodes[i] for i in batch]
        longest = max(len(e) for e in some) - 1
        actions = np.stack([np.concatenate([e.actions, e.actions[-1:].repeat(longest + 1 - len(e), 0)]) for e in some])
        first = np.stack([e.frames[0] for e in some]), np.stack([e.proprio[0] for e in some])
        made = rollout.advance(rollout.start(*first, seeds[batch]), actions)[1]
        for row, (index, episode) in enumerate(zip(batch, some, strict=True)):
            count = len(episode) - 1
            true_latents = simulator.codec.encode(torch.from_numpy(episode.frames[1:]).to(made.latents.device))
            true_proprio = torch.from_numpy(simulator.contract.normalize_proprio(episode.proprio[1:]))
            true_proprio = true_proprio.to(true_latents.device)
            told = None if made.state is None else made.state[row, :count]
            generated = _success(
                heads, made.latents[row, :count], made.normalized_proprio[row, :count], episode.task, told
            )
            read = rollout.read_state(true_latents, true_proprio)
            on_truth = _success(heads, true_latents, true_proprio, episode.task, read)
            truth = episode.labels["success"][1:].astype(np.float64)
            frames = made.frames[row, :count]
            found[index] = Replay(episode.start, episode.behaviour, episode.task, truth, generated, on_truth, frames)
            progress(len(found))
    return [found[i] for i in range(len(episodes))]


@torch.inference_mode()
def _success(
    heads: Heads, latents: torch.Tensor, proprio: torch.Tensor, task: int, state: torch.Tensor | None
) -> Array:
    tasks = torch.full((len(latents),), task, device=latents.device)
    outcome = heads.outcome(latents, proprio, tasks, state)
    values: Array = outcome.success.float().cpu().double().numpy()
    return values


def openloop_metrics(replays: Sequence[Replay], threshold: float, generator: np.random.Generator) -> dict[str, Metric]:
    """Agreement of the episodes' ends, and how well frames are judged; intervals are over episodes.

    An episode succeeds when any frame does: by its label, or with a probability above ``threshold``. ``kappa`` is
    Cohen's, agreement beyond chance; AUROC and Brier scores are over frames.
    """
    truth = np.array([r.truth.max() > 0.5 for r in replays])
    episodes = np.arange(len(replays))
    found = {"success_true": Metric.rate(int(truth.sum()), len(truth))}
    for suffix, name in (("", "generated"), ("_true_frames", "on_truth")):
        guess = np.array([getattr(r, name).max() > threshold for r in replays])
        found[f"success_learned{suffix}"] = Metric.rate(int(guess.sum()), len(guess))
        found[f"agreement{suffix}"] = Metric.rate(int((guess == truth).sum()), len(truth))
        value = cohen_kappa(truth, guess)
        if value is not None:
            low, high = grouped_interval(
                lambda rows, guess=guess: cohen_kappa(truth[rows], guess[rows]),  # type: ignore[misc]
                episodes,
                generator,
            )
            found[f"kappa{suffix}"] = Metric(value, low, high, len(truth))
    lengths = [len(r.truth) for r in replays]
    frames, groups = np.concatenate([r.truth for r in replays]), episodes.repeat(lengths)
    for suffix, name in (("true", "on_truth"), ("generated", "generated")):
        score = np.concatenate([getattr(r, name) for r in replays])
        found[f"success_brier_{suffix}"] = Metric(brier(score, frames), n=len(frames))
        if 0 < frames.mean() < 1:
            low, high = grouped_interval(
                lambda rows, score=score: _auroc(score[rows], frames[rows]),  # type: ignore[misc]
                groups,
                generator,
                200,
            )
            found[f"success_auroc_{suffix}"] = Metric(auroc(score, frames), low, high, len(frames))
    return found


def _auroc(score: Array, event: Array) -> float | None:
    return auroc(score, event) if 0 < event.mean() < 1 else None
