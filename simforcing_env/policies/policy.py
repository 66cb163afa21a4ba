"""The policy protocol that planning and evaluation share: batches of observations in, chunks of actions out."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from world_model.errors import InputError
from world_model.rules import shown

Observation = Mapping[str, NDArray[Any]]
"""Of a vector environment: ``image`` ``(K, H, W, 3)`` uint8 (or one key per camera) and ``proprio`` ``(K, P)``."""


@dataclass(frozen=True)
class Task:
    """What an episode is to do."""

    number: int = 0  # in its suite
    text: str = ""  # in words


class Policy(Protocol):
    """Acts in K episodes side by side.

    What it does in an episode follows from the episode's seed, task and observations alone: its randomness comes from
    generators made of the seeds, so neighbours, slots and the order of episodes change nothing. It keeps what it
    remembers of an episode (the last observation, the rest of a plan) by slot, from ``reset`` on.
    """

    @property
    def name(self) -> str:
        """For people; two policies of a comparison have different ones."""

    @property
    def hash(self) -> str:
        """Names all that decides what it does: weights, settings (see `policy_hash`)."""

    @property
    def horizon(self) -> int:
        """n, the actions that a call of `act` plans; a multiple of the contract's ``actions_per_frame``."""

    def reset(self, seeds: Sequence[int], tasks: Sequence[Task]) -> None:
        """Forget all episodes and begin ``len(seeds)`` new ones."""

    def act(self, observation: Observation) -> NDArray[np.float32]:
        """Next actions ``(K, n, A)`` in the contract's units, within its bounds.

        The caller may carry out fewer than n of them before it asks again. Slots whose episode has ended are still
        asked; their answer counts for nothing.
        """


def batch_size(observation: Observation) -> int:
    """K of a batch."""
    return len(next(iter(observation.values())))


def generators(seeds: Sequence[int], *salt: int) -> list[np.random.Generator]:
    """A stream for each episode; different ``salt`` gives independent ones."""
    return [np.random.default_rng([*salt, int(seed)]) for seed in seeds]


def policy_hash(kind: str, settings: Mapping[str, Any], *files: Path) -> str:
    """Short hash of a policy's kind, JSON-able settings and the bytes of its files."""
    digest = hashlib.sha256(json.dumps([kind, settings], sort_keys=True, default=str).encode())
    for path in files:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def check_chunk(policy: Policy, actions: Any, count: int, action_dim: int) -> NDArray[np.float32]:
    """What a policy answered for ``count`` episodes, as ``(count, n, action_dim)``.

    Raises:
        InputError: another shape, or no numbers; ranges are the environment's business.
    """
    wanted = (count, policy.horizon, action_dim)
    array = np.asarray(actions)
    if array.dtype.kind not in "fiu" or array.shape != wanted:
        got = f"shape {array.shape}" if array.dtype.kind in "fiu" else shown(actions)
        raise InputError(f"policy {policy.name!r} answered with {got} but must give actions of shape {wanted}")
    return array.astype(np.float32)
