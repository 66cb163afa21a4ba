"""Policies made worse on purpose: what they answer is disturbed, or what they see is old. Any policy can be wrapped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simforcing_env.policies.policy import Observation, Policy, Task, batch_size, generators, policy_hash
from world_model.contract import Contract
from world_model.rules import Number, Whole, settle


class Wrapper:
    """A policy around another; what it does not say otherwise is the inner one's."""

    kind = ""

    def __init__(self, inner: Policy, contract: Contract, settings: Any) -> None:
        self.inner, self.contract, self.settings = inner, contract, settings
        options = ",".join(f"{key}={value:g}" for key, value in asdict(settings).items())
        self.name = f"{inner.name}+{self.kind}:{options}"
        self.hash = policy_hash(self.kind, {"inner": inner.hash, **asdict(settings)})

    @property
    def horizon(self) -> int:
        return self.inner.horizon

    def reset(self, seeds: Sequence[int], tasks: Sequence[Task]) -> None:
        self.inner.reset(seeds, tasks)

    def act(self, observation: Observation) -> NDArray[np.float32]:
        return self.inner.act(observation)

    def _clip(self, actions: NDArray[Any]) -> NDArray[np.float32]:
        return np.clip(actions, *self.contract.action_bounds()).astype(np.float32)


@dataclass(frozen=True)
class NoiseSettings:
    """How much noise."""

    scale: float = 0.1
    """Standard deviation, as a share of half of each action's range."""
    memory: float = 0.0
    """Correlation of the noise of one action with the next one's: 0 is white, near 1 a slow drift."""

    def __post_init__(self) -> None:
        settle(self, {"scale": Number(0, 10), "memory": Number(0, 0.999)})


class Noise(Wrapper):
    """Adds noise to every action."""

    kind = "noise"

    def reset(self, seeds: Sequence[int], tasks: Sequence[Task]) -> None:
        super().reset(seeds, tasks)
        self._streams = generators(seeds, 11)
        self._drift = np.zeros((len(seeds), self.contract.action_dim))

    def act(self, observation: Observation) -> NDArray[np.float32]:
        actions = self.inner.act(observation).astype(np.float64)
        low, high = self.contract.action_bounds()
        fresh = np.stack([stream.normal(0.0, 1.0, actions.shape[1:]) for stream in self._streams])
        keep = self.settings.memory
        for step in range(actions.shape[1]):
            self._drift = keep * self._drift + np.sqrt(1 - keep**2) * fresh[:, step]
            actions[:, step] += self.settings.scale * (high - low) / 2 * self._drift
        return self._clip(actions)


@dataclass(frozen=True)
class ScaleSettings:
    """How actions are scaled."""

    factor: float = 0.8
    """About the middle of each action's range, as a wrong calibration does; 1 changes nothing."""

    def __post_init__(self) -> None:
        settle(self, {"factor": Number(-10, 10)})


class Scale(Wrapper):
    """Multiplies every action."""

    kind = "scale"

    def act(self, observation: Observation) -> NDArray[np.float32]:
        low, high = self.contract.action_bounds()
        middle = (low + high) / 2
        return self._clip(middle + self.settings.factor * (self.inner.act(observation) - middle))


@dataclass(frozen=True)
class StepSettings:
    """How long."""

    steps: int = 1
    """Control steps, or calls of ``act`` where that is said."""

    def __post_init__(self) -> None:
        settle(self, {"steps": Whole(0, 100_000)})


class Delay(Wrapper):
    """Every action comes ``steps`` late; until the first one comes, absolute actions are the first, relative ones 0."""

    kind = "delay"

    def reset(self, seeds: Sequence[int], tasks: Sequence[Task]) -> None:
        super().reset(seeds, tasks)
        self._waiting: NDArray[np.float32] | None = None  # (K, steps, A)

    def act(self, observation: Observation) -> NDArray[np.float32]:
        actions = self.inner.act(observation)
        if self._waiting is None:
            absolute = np.array([dim.kind == "absolute" for dim in self.contract.actions])
            first = np.where(absolute, actions[:, :1], 0.0)
            self._waiting = first.repeat(self.settings.steps, 1).astype(np.float32)
        line = np.concatenate([self._waiting, actions], 1)
        self._waiting = line[:, actions.shape[1] :]
        return self._clip(line[:, : actions.shape[1]])


class Stale(Wrapper):
    """Sees a new observation at every ``steps``-th call only; 0 is open loop: it never sees more than the first."""

    kind = "stale"

    def reset(self, seeds: Sequence[int], tasks: Sequence[Task]) -> None:
        super().reset(seeds, tasks)
        self._calls = 0
        self._seen: dict[str, NDArray[Any]] | None = None

    def act(self, observation: Observation) -> NDArray[np.float32]:
        every = self.settings.steps
        if self._seen is None or (every and self._calls % every == 0):
            self._seen = {key: value.copy() for key, value in observation.items()}
        self._calls += 1
        return self.inner.act(self._seen)


@dataclass(frozen=True)
class RandomSettings:
    """How a random policy moves."""

    hold: int = 1
    """Control steps for which an action is kept."""
    horizon: int = 4
    """Actions of a chunk."""

    def __post_init__(self) -> None:
        settle(self, {"hold": Whole(1, 10_000), "horizon": Whole(1, 1024)})


class Random:
    """Uniform actions within the contract's bounds."""

    def __init__(self, contract: Contract, settings: RandomSettings, name: str = "random") -> None:
        self.contract, self.settings, self.name = contract, settings, name
        self.horizon = settings.horizon
        self.hash = policy_hash("random", asdict(settings))

    def reset(self, seeds: Sequence[int], tasks: Sequence[Task]) -> None:
        self._streams = generators(seeds, 13)
        self._step = 0
        self._action = np.zeros((len(seeds), self.contract.action_dim))

    def act(self, observation: Observation) -> NDArray[np.float32]:
        low, high = self.contract.action_bounds()
        chunk = np.zeros((batch_size(observation), self.horizon, self.contract.action_dim), np.float32)
        for step in range(self.horizon):
            if self._step % self.settings.hold == 0:
                self._action = np.stack([stream.uniform(low, high) for stream in self._streams])
            chunk[:, step] = self._action
            self._step += 1
        return chunk.clip(low, high)


WRAPPERS: Mapping[str, tuple[type[Wrapper], type[Any]]] = {
    "noise": (Noise, NoiseSettings),
    "scale": (Scale, ScaleSettings),
    "delay": (Delay, StepSettings),
    "stale": (Stale, StepSettings),
}
"""Name in a policy's specification to wrapper and settings."""
