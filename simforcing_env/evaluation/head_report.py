"""What heads get wrong on frames of which the truth is known."""

from __future__ import annotations

import numpy as np

from world_model.heads.base import LabelHeads
from world_model.heads.calibrate import predict
from world_model.heads.examples import Examples
from world_model.interface import Codec
from world_model.metrics.calibration import auroc, brier, expected_calibration_error

RANGES = ((0.0, 1.0), (0.2, 0.5), (0.5, 0.8), (0.8, 0.95), (0.95, 1.0))


def head_errors(heads: LabelHeads, codec: Codec, examples: Examples) -> str:
    """A Markdown table: mean absolute error of each share by range of its truth, Brier score of each event."""
    values = predict(heads, codec, examples).values.double().numpy()
    truth = examples.targets(heads.labels).double().numpy()
    rows = ["| | n | error |", "| --- | ---: | ---: |"]
    for column, name in enumerate(heads.labels):
        found, wanted = values[:, column], truth[:, column]
        if column >= len(heads.labels) - len(heads.temperature):
            count = int(wanted.sum())
            parts = [f"Brier {brier(found, wanted):.5f}", f"ECE {expected_calibration_error(found, wanted):.4f}"]
            if 0 < count < len(wanted):
                parts.append(f"AUROC {auroc(found, wanted):.5f}")
            rows.append(f"| {name}, {count} true | {len(wanted)} | {', '.join(parts)} |")
            continue
        for low, high in RANGES:
            inside = (wanted >= low) & (wanted <= high)
            if inside.any():
                error = np.abs(found - wanted)[inside].mean()
                rows.append(f"| {name} in {low:g} to {high:g} | {int(inside.sum())} | {error:.4f} |")
    return "\n".join(rows)
