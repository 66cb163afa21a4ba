"""Options of the heads' training; light, so that ``--help`` is quick."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class HeadTraining:
    """How heads are fitted."""

    minutes: float = 6.0
    """Budget of processor time."""
    steps: int | None = None
    """End after so many steps if that is sooner."""
    batch: int = 128
    """Frames per step."""
    learning_rate: float = 2e-3
    """Highest one; it falls along a cosine."""
    weight_decay: float = 1e-3
    """Of AdamW."""
    beta: float = 0.02
    """Error of a share up to which its loss is quadratic."""
    edges: tuple[float, ...] = (1e-6, 0.2, 0.4, 0.6, 0.8, 0.9, 0.94, 0.96)
    """Bins of the reward's label that are drawn equally often; narrow where success begins."""
    spoiled: float = 0.4
    """Share of frames that are blurred or noised."""
    proprio_noise: float = 0.01
    """Standard deviation added to proprio in [-1, 1], as generated proprio has it."""
    state_noise: float = 0.004
    """The same of the state, for heads that judge it."""
