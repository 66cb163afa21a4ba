"""One line of a comparison's ledger."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, fields
from pathlib import Path
from typing import Any

from world_model.errors import DataError
from world_model.ledger import read_ledger

Key = tuple[str, str, str]
"""Side, policy hash and start."""


@dataclass(frozen=True)
class Outcome:
    """How an episode ended."""

    protocol: str
    """Hash, as are the next three."""
    checkpoint: str
    contract: str
    policy_hash: str
    policy: str
    side: str
    start: str
    task: int
    seed: int
    success: bool
    success_frame: int | None
    """Number of the first frame that is a success, from 1."""
    frames: int
    """That were run."""
    best: dict[str, float]
    """Largest value of each label at the ends of chunks."""
    last: dict[str, float]
    uncertainty: float
    """Mean over the frames that count; 0 in the true simulator."""
    uncertainty_most: float
    parted: dict[str, int | None]
    """Of a learned episode: the frame by which it had left the true one by each measure, None if it never did."""
    policy_s: float
    """Seconds of the policy, shared among the episodes that ran side by side; as the next, no part of the report."""
    env_s: float
    outside: float | None = None
    """Of a learned episode: share of its frames with actions outside the training support; None if it is not known."""
    goal: bool | None = None
    """Of a learned episode: whether its last frame looks like success to a judge by goal images; None without one."""

    @property
    def key(self) -> Key:
        return self.side, self.policy_hash, self.start

    def line(self) -> dict[str, Any]:
        """For the ledger."""
        return asdict(self)


def read_outcomes(path: Path, protocol: str | None = None) -> dict[Key, Outcome]:
    """Episodes of a ledger, those of one protocol if it is given.

    Raises:
        DataError: a line is damaged, or, without a protocol given, there are two of them.
    """
    known = {field.name for field in fields(Outcome)}
    needed = {field.name for field in fields(Outcome) if field.default is MISSING}
    found: dict[Key, Outcome] = {}
    hashes: set[str] = set()
    for number, record in enumerate(read_ledger(path), 1):
        if not needed <= set(record) <= known:
            odd = sorted((needed - set(record)) | (set(record) - known))
            raise DataError(f"line {number} of {path} is no episode ({', '.join(odd)}); delete that line")
        outcome = Outcome(**record)
        if protocol is None or outcome.protocol == protocol:
            found.setdefault(outcome.key, outcome)
            hashes.add(outcome.protocol)
    if len(hashes) > 1:
        raise DataError(f"{path} holds episodes of {len(hashes)} protocols; give each comparison a file of its own")
    return found


def shared_keys(outcomes: Mapping[Key, Outcome], side: str) -> list[Key]:
    """Keys of true episodes that have one on ``side`` too."""
    return [key for key in outcomes if key[0] == "true" and (side, *key[1:]) in outcomes]
