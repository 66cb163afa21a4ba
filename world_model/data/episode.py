"""One recorded episode in memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from world_model.errors import InputError


@dataclass(frozen=True)
class Episode:
    """T observations and the T - 1 action groups between them.

    Raises:
        InputError: the arrays do not fit together.
    """

    frames: NDArray[np.uint8]  # (T, H, W, 3) RGB canvases of all cameras, see `world_model.canvas`
    proprio: NDArray[np.float32]  # (T, P) in the contract's units
    actions: NDArray[np.float32]  # (T - 1, a, A) in the contract's units; i leads from frame i to i + 1
    state: NDArray[np.float32] | None = None  # (T, S) privileged numbers of the teacher
    labels: Mapping[str, NDArray[np.float32]] = field(default_factory=dict)  # (T,) each, of frame i's own state
    start: str = ""
    behaviour: str = ""
    task: int = 0  # number of the task in its data set
    simulation: NDArray[np.float64] | None = None  # (T, M) the simulator's own state, as its teacher lays it out

    def __post_init__(self) -> None:
        rows = len(self.frames)
        found = {"frames": rows, "proprio": len(self.proprio), "actions": len(self.actions) + 1}
        for name in ("state", "simulation"):
            if (values := getattr(self, name)) is not None:
                found[name] = len(values)
        found |= {f"label {name}": len(values) for name, values in self.labels.items()}
        if rows < 1 or len(set(found.values())) != 1:
            raise InputError(f"an episode's arrays do not fit: rows (actions + 1) are {found}; record them together")
        if self.frames.ndim != 4 or self.frames.dtype != np.uint8 or self.actions.ndim != 3:
            raise InputError(
                f"episode frames are {self.frames.dtype} {self.frames.shape} and actions {self.actions.shape}; "
                "give uint8 (T, H, W, 3) and (T - 1, a, A)"
            )

    def __len__(self) -> int:
        """Number of observations T."""
        return len(self.frames)
