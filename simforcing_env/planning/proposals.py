"""Proposals of policies that know of no planning: each episode is begun K times with different seeds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from simforcing_env.planning.world import Array
from simforcing_env.policies.policy import Observation, Policy, Task, batch_size, check_chunk, policy_hash
from world_model.contract import Contract
from world_model.errors import InputError
from world_model.noise import branch_seeds


class Repeated:
    """Any `Policy` as one that samples; its proposals differ as far as its seeds matter to it.

    It cannot go on from imagined frames, so planners use it without continuations.
    """

    def __init__(self, policy: Policy, contract: Contract, count: int) -> None:
        self.policy, self.contract, self.count = policy, contract, count
        self.name = policy.name
        self.hash = policy_hash("repeated", {"policy": policy.hash, "count": count})

    @property
    def horizon(self) -> int:
        return self.policy.horizon

    def reset(self, seeds: Sequence[int], tasks: Sequence[Task] = ()) -> None:
        """Begin every episode ``count`` times, the first time with its own seed."""
        own = [[int(seed), *branch_seeds(int(seed), self.count)[1:].tolist()] for seed in seeds]
        tasks = list(tasks) or [Task()] * len(own)
        self.policy.reset([s for some in own for s in some], [task for task in tasks for _ in range(self.count)])

    def sample(self, observation: Observation, count: int) -> Array:
        """``count`` chunks ``(K, count, n, A)`` for each episode.

        Raises:
            InputError: more of them than episodes were begun for.
        """
        if count > self.count:
            raise InputError(
                f"{count} proposals are asked of a policy that was begun {self.count} times; raise its count"
            )
        rows = batch_size(observation)
        repeated = {key: np.repeat(value, self.count, axis=0) for key, value in observation.items()}
        chunks = check_chunk(self.policy, self.policy.act(repeated), rows * self.count, self.contract.action_dim)
        return chunks.reshape(rows, self.count, *chunks.shape[1:])[:, :count]


class Shortened:
    """A policy that is asked again after ``execute`` of its actions."""

    def __init__(self, policy: Policy, execute: int) -> None:
        if not 1 <= execute <= policy.horizon:
            raise InputError(f"execute is {execute} but policy {policy.name!r} plans {policy.horizon}; take 1 to that")
        self.policy, self.horizon = policy, execute
        self.name = policy.name
        self.hash = policy_hash("shortened", {"policy": policy.hash, "execute": execute})

    def reset(self, seeds: Sequence[int], tasks: Sequence[Task] = ()) -> None:
        """Begin episodes."""
        self.policy.reset(seeds, tasks)

    def act(self, observation: Observation) -> Array:
        """The first ``execute`` actions of each chunk."""
        return self.policy.act(observation)[:, : self.horizon]
