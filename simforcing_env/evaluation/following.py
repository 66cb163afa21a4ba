"""Whether the actions are what moves the frames: clips told to do something else, and what that costs."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from world_model.contract import Contract
from world_model.metrics.clips import Clips
from world_model.metrics.rollouts import FOLLOWING, SHIFTS, shifted_actions, shuffled_actions
from world_model.results import Metric

Array = NDArray[np.float64]


def other_actions(clips: Clips, contract: Contract, generator: np.random.Generator) -> dict[str, NDArray[np.float32]]:
    """Actions ``(B, n, a, A)`` other than the true ones: shuffled, zero, shift-1, shift+1.

    Raises:
        InputError: clips from too few episodes.
    """
    others = {"shuffled": shuffled_actions(clips, generator), "zero": hold_actions(clips, contract)}
    return others | {f"shift{shift:+d}": shifted_actions(clips, shift) for shift in SHIFTS if shift}


def hold_actions(clips: Clips, contract: Contract) -> NDArray[np.float32]:
    """Actions ``(B, n, a, A)`` that ask for no motion: relative ones are zero, absolute ones the last known position.

    Absolute action ``i`` is the target of proprio ``i``, as in Push-T; where there is no such proprio, it stays at the
    first true one of the clip.
    """
    relative, known = np.array([d.kind == "relative" for d in contract.actions]), clips.future[:, 0, 0].copy()
    told = min(contract.proprio_dim, contract.action_dim)
    known[:, :told] = clips.proprio[:, clips.history - 1, :told]
    held = np.where(relative, 0.0, known)
    low, high = contract.action_bounds()
    return np.broadcast_to(held.clip(low, high)[:, None, None], clips.future.shape).astype(np.float32)


def following_metrics(
    curves: Mapping[str, Array], mean: Callable[[Array, str], Metric | None]
) -> dict[str, Metric | None]:
    """PSNR lost with each of `other_actions` over the first frames, and the shift of the actions that fits best.

    Args:
        curves: PSNR ``(B, n)`` as "psnr", "psnr_shuffled", "psnr_zero", "psnr_shift-1" and "psnr_shift+1".
        mean: of ``(B,)`` values and their unit.
    """
    means = {name: values[:, :FOLLOWING].mean(1) for name, values in curves.items() if name.startswith("psnr")}
    found: dict[str, Metric | None] = {
        f"{title}_gap_db": mean(means["psnr"] - means[f"psnr_{name}"], "dB")
        for title, name in (("shuffle", "shuffled"), ("zero", "zero"))
    }
    shifted = {s: means["psnr"] if s == 0 else means[f"psnr_shift{s:+d}"] for s in SHIFTS}
    best = max(SHIFTS, key=lambda s: (shifted[s].mean(), s == 0))  # no difference speaks for no shift
    found["best_shift"] = Metric(float(best), n=len(means["psnr"]), unit="frames")
    for shift, name in ((-1, "shift_minus_gap_db"), (1, "shift_plus_gap_db")):
        found[name] = mean(shifted[0] - shifted[shift], "dB")
    return found
