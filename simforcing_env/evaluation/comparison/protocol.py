"""What a comparison runs, so exactly that two with the same hash have the same episodes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from world_model.pretrained import task_of

Side = Literal["true", "learned", "again"]
SIDES: tuple[Side, ...] = ("true", "learned", "again")
"""The teacher, the learned environment, and the teacher once more with other seeds for the noise floor."""
_APART = 1_000_003  # between the seeds of the two true runs


@dataclass(frozen=True)
class Protocol:
    """How every episode is run and judged."""

    env: str
    teacher: str
    checkpoint: str
    """Hash."""
    contract: str
    """Hash."""
    frames: int
    """After which an episode has failed."""
    execute: int
    """Most actions of a chunk that are carried out before the policy is asked again; 0 for all."""
    batch: int
    """Episodes side by side."""
    seed: int
    threshold: float
    """Success probability above which a generated frame is a success."""
    history: int
    sampler_steps: int
    precision: str
    pixel_apart: float
    """Root mean squared difference of two frames, in grey levels, from which they have parted."""
    proprio_apart: float
    """Largest difference of proprio, as a share of its range, from which two episodes have parted."""
    state_apart: float
    """Difference of object states, in the unit of the instrument that reads them, from which they have parted."""

    @property
    def hash(self) -> str:
        """Of all of the above."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()[:16]

    def chunk(self, horizon: int, per_frame: int) -> int:
        """Actions per call of ``step`` for a policy that plans ``horizon`` of them: whole frames, at least one."""
        wanted = min(horizon, self.execute or horizon)
        return max(wanted // per_frame, 1) * per_frame


@dataclass(frozen=True)
class Planned:
    """One episode to run; the first two sides have the same seed, so they meet the same randomness of the policy."""

    side: Side
    start: str
    index: int
    """Of its start in the comparison; it makes the seed."""
    seed: int

    @property
    def task(self) -> int:
        return task_of(self.start)


def planned(protocol: Protocol, side: Side, starts: Sequence[str], first: int) -> list[Planned]:
    """Episodes from ``starts``, which are those from number ``first`` on."""
    base = protocol.seed * 10_000_019 + (_APART if side == "again" else 0)
    return [Planned(side, start, first + i, base + first + i) for i, start in enumerate(starts)]
