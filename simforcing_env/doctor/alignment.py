"""Do the actions lead where the proprio goes: at which shift, with which sign, at all?

For each action dimension that has a proprio dimension of its own, the proprio's next change is regressed on the
action, the proprio and its last change. That serves absolute targets and relative actions alike, and says which of
the neighbouring actions belongs to a change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simforcing_env.doctor.finding import Finding
from world_model.contract import Contract
from world_model.data.episode import Episode

SHIFTS = (-1, 0, 1)
FEWEST_ROWS = 40
LEAST_EFFECT = 0.1  # share of the otherwise unexplained variance that a steering action explains, at the least
BETTER = 0.8  # another shift must leave less than this share of shift 0's residual to be called the right one
SURE = 5.0  # standard errors between a weight and zero


@dataclass(frozen=True)
class Pair:
    """An action dimension, the proprio dimension that it moves, and the sign in which it should."""

    action: int
    proprio: int
    sign: int = 1


@dataclass(frozen=True)
class Fit:
    """Regression of a proprio change on the action at one shift."""

    residual: float  # sum of squares, over the sum of squares without the action
    weight: float  # of the action, in proprio units per action unit
    score: float  # weight over its standard error


def pairs(contract: Contract) -> list[Pair]:
    """Dimensions that belong together: last word of the name and, for the gripper, the declared polarity.

    The first gripper number of the proprio is taken to grow as the gripper opens.
    """
    found = []
    for a, action in enumerate(contract.actions):
        if "gripper" in action.name:
            fingers = [p for p, d in enumerate(contract.proprio) if "gripper" in d.name or "finger" in d.name]
            if fingers and contract.gripper != "none":
                found.append(Pair(a, fingers[0], -1 if contract.gripper == "plus_closes" else 1))
            continue
        word = action.name.rpartition("_")[2]
        same = [p for p, d in enumerate(contract.proprio) if d.name.rpartition("_")[2] == word]
        if len(same) == 1:
            found.append(Pair(a, same[0]))
    return found


def check_alignment(episodes: Sequence[Episode], contract: Contract) -> list[Finding]:
    """Findings ``action shift``, ``action sign`` and ``action effect``."""
    matched = pairs(contract)
    if not matched:
        return [Finding("action shift", "note", "no action dimension shares its last word with a proprio dimension")]
    fits: list[tuple[Pair, dict[int, Fit]]] = []
    for pair in matched:
        rows = _rows(episodes, contract, pair)
        if rows is not None:
            fits.append((pair, {shift: _fit(rows[0][shift], *rows[1:]) for shift in SHIFTS}))
    if not fits:
        text = f"fewer than {FEWEST_ROWS} frames in which the proprio moves"
        return [Finding("action shift", "note", text, "check a data set with more, longer or livelier episodes")]
    residual = {shift: float(np.mean([fit[shift].residual for _, fit in fits])) for shift in SHIFTS}
    best = min(SHIFTS, key=residual.__getitem__)
    if residual[best] > BETTER * residual[0]:
        best = 0
    seen = ", ".join(f"{shift:+d}: {residual[shift]:.3f}" if shift else f"0: {residual[0]:.3f}" for shift in SHIFTS)
    if residual[best] > 1 - LEAST_EFFECT:
        mend = "the actions belong to other episodes or were shuffled; record or convert them with their frames"
        text = f"actions explain only {1 - residual[best]:.1%} of how the proprio moves at the best shift"
        return [Finding("action effect", "fault", text, mend)]
    return [
        Finding("action effect", "ok", f"actions explain {1 - residual[best]:.1%} of how the proprio moves"),
        _shift_finding(best, seen),
        _sign_finding([(pair, fit[best]) for pair, fit in fits], contract),
    ]


def _shift_finding(best: int, seen: str) -> Finding:
    text = f"unexplained movement by shift of the actions: {seen}"
    if best == 0:
        return Finding("action shift", "ok", text)
    where = "one frame late" if best > 0 else "one frame early"
    mend = f"actions stand {where}: action i must lead from frame i to i + 1, so move them by {-best:+d} row"
    return Finding("action shift", "fault", text, mend)


def _sign_finding(fits: list[tuple[Pair, Fit]], contract: Contract) -> Finding:
    wrong = [contract.actions[pair.action].name for pair, fit in fits if fit.score * pair.sign < -SURE]
    unsure = [contract.actions[pair.action].name for pair, fit in fits if abs(fit.score) <= SURE]
    weights = ", ".join(f"{contract.actions[pair.action].name} {fit.weight:+.3g}" for pair, fit in fits)
    text = f"weight of the action in the proprio's next change: {weights}"
    if wrong:
        mend = f"{' and '.join(wrong)} moves against its proprio: turn its sign, or mend the contract's polarity"
        return Finding("action sign", "fault", text, mend)
    if unsure:
        return Finding("action sign", "note", f"{text}; too little movement to tell {' and '.join(unsure)}")
    return Finding("action sign", "ok", text)


Array = NDArray[np.float64]


def _rows(episodes: Sequence[Episode], contract: Contract, pair: Pair) -> tuple[dict[int, Array], Array, Array] | None:
    """Actions by shift ``(R,)``, the other regressors ``(R, 3)`` and the next change ``(R,)``; None if too few."""
    actions: dict[int, list[Array]] = {shift: [] for shift in SHIFTS}
    others, changes = [], []
    absolute = contract.actions[pair.action].kind == "absolute"
    for episode in episodes:
        group = episode.actions[:, :, pair.action].astype(np.float64)
        action = group[:, -1] if absolute else group.mean(axis=1)
        proprio = episode.proprio[:, pair.proprio].astype(np.float64)
        t = np.arange(1, len(action) - 1)  # frames with a frame before them and an action on either side
        for shift in SHIFTS:
            actions[shift].append(action[t + shift])
        others.append(np.stack([proprio[t], proprio[t] - proprio[t - 1], np.ones(len(t))], axis=1))
        changes.append(proprio[t + 1] - proprio[t])
    change = np.concatenate(changes) if changes else np.zeros(0)
    if len(change) < FEWEST_ROWS or not change.std() > 0:
        return None
    return {shift: np.concatenate(values) for shift, values in actions.items()}, np.concatenate(others), change


def _fit(action: Array, others: Array, change: Array) -> Fit:
    """Least squares by partialling out: what of the change only the action explains."""
    basis, _ = np.linalg.qr(others)
    rest_change = change - basis @ (basis.T @ change)
    rest_action = action - basis @ (basis.T @ action)
    power = float(rest_action @ rest_action)
    total = float(rest_change @ rest_change)
    if power <= 1e-12 * max(1.0, float(action @ action)) or total <= 0:
        return Fit(1.0, 0.0, 0.0)
    weight = float(rest_action @ rest_change) / power
    left = float(np.square(rest_change - weight * rest_action).sum())
    error = np.sqrt(left / max(1, len(change) - 4) / power)
    return Fit(left / total, weight, weight / error if error > 0 else np.sign(weight) * np.inf)
