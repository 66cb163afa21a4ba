"""Are the actions that were asked for seen in the generated frames? Read by inverse dynamics, with controls."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from simforcing_env.evaluation.short import ShortReport
from world_model.contract import Contract
from world_model.data.episode import Episode
from world_model.errors import InputError
from world_model.metrics.clips import origin_of
from world_model.metrics.inverse import InverseNet, r_squared, recover_actions
from world_model.metrics.resampling import grouped_interval, mean_over_groups
from world_model.results import Metric

Array = NDArray[np.float64]


def check_apart(training: Sequence[Episode], held_out: Sequence[str]) -> None:
    """Make sure that no start of the network's training is among those that it is used on.

    Raises:
        InputError: one is.
    """
    both = {origin_of(e.start) for e in training if e.start} & {origin_of(start) for start in held_out}
    if both:
        raise InputError(f"start {min(both)} is in the training and in the held-out episodes; give the training split")


def recovery_metrics(
    network: InverseNet, contract: Contract, report: ShortReport, generator: np.random.Generator
) -> dict[str, Metric]:
    """R2 and mean absolute error of actions read from pairs of neighbouring frames; intervals are over episodes.

    ``_true``: true frames, the network's own error. ``_generated``: generated frames under the true actions.
    ``_shuffled``: frames generated under another episode's actions, against those actions. Controls: ``_control`` holds
    what is read from the generated frames against the other episode's actions; ``_still`` reads each true frame twice,
    which tells what a picture alone gives away where actions are places.
    """
    clips = report.clips
    asked, others = clips.future.astype(np.float64), report.shuffled_actions.astype(np.float64)
    videos = {
        "true": np.concatenate([clips.last, clips.truth], 1),
        "generated": np.concatenate([clips.last, report.frames], 1),
        "shuffled": np.concatenate([clips.last, report.shuffled], 1),
    }
    read = {name: recover_actions(network, contract, frames) for name, frames in videos.items()}
    before = videos["true"][:, :-1]
    twice = np.stack([before, before], 2).reshape(-1, 2, *before.shape[2:])
    still = recover_actions(network, contract, twice).reshape(asked.shape)
    cases = {
        "true": (read["true"], asked),
        "generated": (read["generated"], asked),
        "shuffled": (read["shuffled"], others),
        "control": (read["generated"], others),
        "still": (still, asked),
    }
    units = {d.unit for d in contract.actions}
    unit = units.pop() if len(units) == 1 else ""
    found: dict[str, Metric] = {}
    for name, (values, wanted) in cases.items():
        score = _score(values, wanted, np.arange(len(clips)))
        if score is not None:
            low, high = grouped_interval(
                lambda rows, values=values, wanted=wanted: _score(values, wanted, rows),  # type: ignore[misc]
                clips.group,
                generator,
                300,
            )
            found[f"action_r2_{name}"] = Metric(score, low, high, len(np.unique(clips.group)))
        error = np.abs(values - wanted).mean(axis=(1, 2, 3))
        found[f"action_mae_{name}"] = mean_over_groups(error, clips.group, generator, unit)
    return found


def _score(read: Array, asked: Array, rows: NDArray[np.intp]) -> float | None:
    """R2 over the given windows; the actions of a frame are told apart by their place in it."""
    size = asked.shape[2] * asked.shape[3]
    return r_squared(read[rows].reshape(-1, size), asked[rows].reshape(-1, size))
