"""Are actions and proprio in the units of the contract, and does its normaliser fit them?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from simforcing_env.doctor.finding import Finding
from world_model.contract import Contract, Dimension
from world_model.data.episode import Episode

OUTSIDE = 0.01  # share of values that may lie outside the bounds
SLACK = 0.02  # of the range, on either side
WIDE = 8.0  # bounds this wide can't be those of numbers normalised to [-1, 1]
FEWEST_ROWS = 40  # actions before a narrow span says anything
NARROW, FAR = 0.05, 3.0  # normalised values that span less or reach further don't fit their normaliser


def check_ranges(episodes: Sequence[Episode], contract: Contract) -> list[Finding]:
    """Findings ``action range``, ``proprio range`` and ``normaliser``."""
    actions = np.concatenate([e.actions.reshape(-1, contract.action_dim) for e in episodes]).astype(np.float64)
    proprio = np.concatenate([e.proprio for e in episodes]).astype(np.float64)
    findings = [
        _range("action range", actions, contract.actions),
        _range("proprio range", proprio, contract.proprio),
    ]
    if all(finding.status == "ok" for finding in findings):
        findings.append(_normaliser(contract, actions, proprio))
    return findings


def _range(check: str, values: NDArray[np.float64], dims: tuple[Dimension, ...]) -> Finding:
    low, high = np.array([d.low for d in dims]), np.array([d.high for d in dims])
    if not np.isfinite(values).all():
        count = int((~np.isfinite(values)).sum())
        return Finding(
            check, "fault", f"{count} values are NaN or infinite", "drop those episodes or record them again"
        )
    seen = ", ".join(
        f"{d.name} {a:.4g} to {b:.4g} {d.unit} (contract {d.low:g} to {d.high:g})"
        for d, a, b in zip(dims, values.min(axis=0), values.max(axis=0), strict=True)
    )
    slack = SLACK * (high - low)
    outside = ((values < low - slack) | (values > high + slack)).mean(axis=0)
    wide = high - low >= WIDE
    if wide.any() and (np.abs(values[:, wide]) <= 1 + SLACK).all():
        mend = "these numbers are normalised already: store them in the contract's units, the loader normalises"
        return Finding(check, "fault", seen, mend)
    if outside.max() > OUTSIDE:
        name = dims[int(outside.argmax())].name
        mend = (
            f"{outside.max():.0%} of {name} lies outside the contract's bounds: it has another unit or sign, or is not "
            "normalised as the contract says; convert it, or write the bounds that are meant"
        )
        return Finding(check, "fault", seen, mend)
    return Finding(check, "ok", seen)


def _normaliser(contract: Contract, actions: NDArray[np.float64], proprio: NDArray[np.float64]) -> Finding:
    normalised = np.concatenate(
        [
            np.quantile(contract.normalize_actions(actions), [0.01, 0.99], axis=0),
            np.quantile(contract.normalize_proprio(proprio), [0.01, 0.99], axis=0),
        ],
        axis=1,
    )
    names = [d.name for d in (*contract.actions, *contract.proprio)]
    span, reach = normalised[1] - normalised[0], np.abs(normalised).max(axis=0)
    kind = contract.normalizer.kind
    mend = f"make the {kind!r} normaliser from this data's own numbers, or the model sees actions of the wrong size"
    if reach.max() > FAR:
        worst = int(reach.argmax())
        text = f"{names[worst]} reaches {reach[worst]:.3g} after normalisation (about 1 is right)"
        return Finding("normaliser", "fault", text, mend)
    still = [name for name, s in zip(names, span, strict=True) if s < NARROW]
    if len(actions) >= FEWEST_ROWS and set(still) >= {d.name for d in contract.actions}:
        text = f"normalised numbers span only {span.max():.3g} of 2"
        return Finding("normaliser", "fault", text, mend)
    return Finding(
        "normaliser", "ok", f"normalised numbers reach {reach.max():.2f} and span up to {span.max():.2f} of 2"
    )
