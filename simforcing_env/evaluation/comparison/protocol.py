"""What a comparison runs, so exactly that two with the same hash have the same episodes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from world_model.atomic import replace_text
from world_model.errors import DataError, InputError
from world_model.pretrained import task_of
from world_model.runtime import Precision

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
    precision: Precision
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
        """Actions per call of ``step`` for a policy that plans ``horizon`` of them: whole frames, at least one.

        Raises:
            InputError: it plans less than a frame.
        """
        if horizon < per_frame:
            raise InputError(
                f"a policy plans {horizon} actions but a frame takes {per_frame}; let it plan a multiple of that"
            )
        wanted = min(horizon, self.execute or horizon)
        return max(wanted // per_frame, 1) * per_frame


def write_protocol(path: Path, protocol: Protocol) -> None:
    """As JSON with its hash; the file appears whole or not at all."""
    replace_text(path, json.dumps({**asdict(protocol), "hash": protocol.hash}, indent=2) + "\n")


def read_protocol(path: Path) -> Protocol:
    """Inverse of `write_protocol`.

    Raises:
        DataError: absent, damaged, or not what its hash says.
    """
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        said = record.pop("hash")
        protocol = Protocol(**record)
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise DataError(
            f"{path} is no protocol of a comparison ({error!r}); write it with simforcing compare"
        ) from error
    if protocol.hash != said:
        raise DataError(
            f"{path} was changed by hand: its hash is {protocol.hash} and not {said}; run the comparison again"
        )
    return protocol


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
