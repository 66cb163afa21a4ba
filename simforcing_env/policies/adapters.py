"""Policies of other libraries under our protocol: anything with ``select_action`` (LeRobot) or ``predict`` (SB3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from simforcing_env.policies.policy import Observation, Policy, Task, batch_size, policy_hash
from simforcing_env.spaces import PROPRIO_KEYS, image_keys
from world_model.contract import Contract
from world_model.errors import InputError
from world_model.rules import shown


class Predictor(Protocol):
    """The call that Stable-Baselines3's models answer."""

    def predict(
        self,
        observation: dict[str, NDArray[Any]],
        state: Any = None,
        episode_start: NDArray[np.bool_] | None = None,
        deterministic: bool = False,
    ) -> tuple[NDArray[Any], Any]:
        """Actions ``(K, ...)`` and the state of a recurrent model."""


class LeRobotAdapter:
    """A policy with ``reset()`` and ``select_action(batch) -> (K, A)``, asked once for each action of a frame.

    Its batch has LeRobot's keys, pictures ``(K, 3, H, W)`` in [0, 1] and, where episodes have words for their tasks,
    "task" with a list of them. Such a policy draws its own random numbers, so only a deterministic one repeats.

    Args:
        identity: what decides about it, such as the hash of its checkpoint.
    """

    def __init__(self, policy: Any, contract: Contract, name: str, identity: str, device: str = "cpu") -> None:
        self.policy, self.contract, self.name, self.device = policy, contract, name, device
        self.hash = policy_hash("lerobot", {"identity": identity})
        self.horizon = contract.actions_per_frame
        self._words: list[str] = []

    def reset(self, seeds: Sequence[int], tasks: Sequence[Task]) -> None:
        self.policy.reset()
        self._words = [task.text for task in tasks]

    def act(self, observation: Observation) -> NDArray[np.float32]:
        from simforcing_env.adapters.lerobot import select_action

        plain, theirs = image_keys(self.contract), image_keys(self.contract, "lerobot")
        renamed = {new: observation[old] for old, new in zip(plain, theirs, strict=True)}
        renamed[PROPRIO_KEYS["lerobot"]] = observation[PROPRIO_KEYS["plain"]]
        words = {"task": self._words} if any(self._words) else {}
        low, high = self.contract.action_bounds()
        taken = [select_action(self.policy, renamed, self.device, words) for _ in range(self.horizon)]
        return np.clip(np.stack(taken, 1), low, high)


class Sb3Adapter:
    """A model with Stable-Baselines3's ``predict``, deterministic; a recurrent one's state is kept.

    Load the model yourself: its files are pickles, which nothing here opens.
    """

    def __init__(self, model: Predictor, contract: Contract, name: str, identity: str, horizon: int = 0) -> None:
        self.model, self.contract, self.name = model, contract, name
        self.hash = policy_hash("sb3", {"identity": identity})
        self.horizon = horizon or contract.actions_per_frame
        self._state: Any = None
        self._begins = np.zeros(0, np.bool_)

    def reset(self, seeds: Sequence[int], tasks: Sequence[Task]) -> None:
        self._state, self._begins = None, np.ones(len(seeds), np.bool_)

    def act(self, observation: Observation) -> NDArray[np.float32]:
        actions, self._state = self.model.predict(
            dict(observation), state=self._state, episode_start=self._begins, deterministic=True
        )
        self._begins = np.zeros_like(self._begins)
        try:
            shaped = np.asarray(actions, np.float32).reshape(batch_size(observation), -1, self.contract.action_dim)
        except (ValueError, TypeError) as error:
            raise InputError(
                f"policy {self.name!r} predicted {shown(actions)}, which is no chunk of {self.contract.action_dim} "
                "numbers an action; train it on this world"
            ) from error
        return np.clip(shaped, *self.contract.action_bounds())


def adapt(made: Any, contract: Contract, name: str, identity: str) -> Policy:
    """``made`` as a `Policy`, by the calls that it answers.

    Raises:
        InputError: it answers none that is known.
    """
    if all(hasattr(made, part) for part in ("name", "hash", "horizon", "reset", "act")):
        policy: Policy = made
        return policy
    if hasattr(made, "select_action"):
        return LeRobotAdapter(made, contract, name, identity)
    if hasattr(made, "predict"):
        return Sb3Adapter(made, contract, name, identity)
    raise InputError(f"{shown(made)} is no policy; give it act, select_action or predict (see simforcing_env.policies)")
