"""Our policies as LeRobot's: ``reset()`` and ``select_action(batch)``, one action of a chunk at a time."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from simforcing_env.policies.policy import Policy, Task
from simforcing_env.spaces import PROPRIO_KEYS, image_keys
from world_model.contract import Contract
from world_model.errors import InputError


class LeRobotForm:
    """Any of our policies for LeRobot's evaluation loops.

    Args:
        contract: of the environment; a policy that has one of its own needs none here.
        execute: actions of a chunk that are given out before the policy is asked again; None gives all of them.
        seed: of the first episode; the others count up from it.
    """

    def __init__(
        self, policy: Policy, contract: Contract | None = None, execute: int | None = None, seed: int = 0
    ) -> None:
        own = contract or getattr(policy, "contract", None)
        if own is None:
            raise InputError(f"policy {policy.name!r} has no contract; give the environment's")
        self.policy, self.contract, self.execute, self._seed = policy, own, execute or policy.horizon, seed
        self._rest: list[Tensor] = []
        self._begun = 0

    def reset(self) -> None:
        """Forget all episodes."""
        self._rest, self._begun = [], 0

    def select_action(self, batch: dict[str, Tensor]) -> Tensor:
        """The next action ``(K, A)`` of each episode; ``batch`` as `adapters.lerobot.policy_batch` makes it."""
        if not self._rest:
            plain, theirs = image_keys(self.contract), image_keys(self.contract, "lerobot")
            seen = {}
            for new, old in zip(plain, theirs, strict=True):
                seen[new] = batch[old].mul(255).round().to(torch.uint8).movedim(-3, -1).cpu().numpy()
            seen[PROPRIO_KEYS["plain"]] = batch[PROPRIO_KEYS["lerobot"]].cpu().numpy().astype(np.float32)
            count = len(seen[plain[0]])
            if not self._begun:
                self.policy.reset([self._seed + k for k in range(count)], [Task()] * count)
                self._seed, self._begun = self._seed + count, count
            chunk = torch.from_numpy(self.policy.act(seen))[:, : self.execute]
            self._rest = list(chunk.unbind(1))
        return self._rest.pop(0)
