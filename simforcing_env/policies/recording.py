"""Rollouts of a policy in a true simulator as a data set: what it does, mistakes and failures included."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simforcing_env.policies.policy import Policy, Task, generators
from simforcing_env.policies.registry import make_policy
from simforcing_env.spaces import PROPRIO_KEYS, image_keys
from teachers.collection import Job
from teachers.recording import Recorder, Split, recordable, recorder_for
from teachers.registry import make_teacher
from teachers.teacher import TeacherObservation
from world_model.canvas import join
from world_model.contract import Contract
from world_model.data.episode import Episode
from world_model.errors import InputError
from world_model.rules import Number, Whole, settle

FIRST = {"train": 0, "validation": 800_000, "test": 900_000}
_SALT = 7


@dataclass(frozen=True)
class PolicyJob(Job):
    """A `Job` whose episodes a policy plays; its options are those of `PolicyRecorder`, or of `ArmPolicyRecorder`."""

    def recorder(self) -> Recorder:
        if recordable(self.teacher).arm:
            from simforcing_env.policies.arm_recording import ArmPolicyRecorder

            return ArmPolicyRecorder(self.split, self.seed, self.options)
        return PolicyRecorder(self.teacher, self.split, self.seed, self.options)


@dataclass(frozen=True)
class RolloutSettings:
    """How long a rollout is and how it is played."""

    transitions: int = 200
    """Actions."""
    execute: int = 8
    """Actions before the policy is asked again."""
    noise: float = 0.0
    """Of `Drift`, in units of the actions."""

    def __post_init__(self) -> None:
        settle(self, {"transitions": Whole(1, 100_000), "execute": Whole(1, 1024), "noise": Number(0, 1000)})

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> RolloutSettings:
        """Those among a recorder's options."""
        return cls(**{field.name: options[field.name] for field in fields(cls) if field.name in options})


class PolicyRecorder:
    """Records Push-T episodes of ``transitions`` frames from the split's random starts.

    ``options``: "policy" (a specification of `policies.registry`), "transitions", "execute" (actions before it is asked
    again) and "noise" (of `Drift`, in units, so that rollouts leave the beaten track).
    """

    def __init__(self, teacher: str, split: Split, seed: int, options: Mapping[str, Any]) -> None:
        if teacher != "pusht":
            raise InputError(f"policies are recorded in teacher 'pusht' only, not in {teacher!r}; choose it")
        self.split, self.seed = split, seed
        self.settings = RolloutSettings.of(options)
        self.teacher = make_teacher(teacher)
        self.contract = self.teacher.contract
        self.policy: Policy = make_policy(str(options["policy"]), self.contract)
        self.spec = recorder_for(self.contract, split, seed, {}).spec

    def describe(self) -> dict[str, Any]:
        """See `teachers.recording.Recorder`."""
        return {"split": self.split, "seed": self.seed, "policy": self.policy.hash, **asdict(self.settings)}

    def length(self, index: int) -> int:
        return self.settings.transitions + 1

    def record(self, index: int) -> Episode:
        """Episode ``index``, the same whenever it is asked for."""
        start = f"seed-{FIRST[self.split] + (self.seed * 10_007 + index) % 100_000}"
        generator = generators([index], _SALT, self.seed)[0]
        drift = Drift(self.settings.noise, self.contract, generator)
        self.policy.reset([int(generator.integers(2**31))], [Task()])
        seen = self.teacher.reset(start)
        rows = [(seen, self.teacher.labels(), self.teacher.state)]
        actions: list[NDArray[np.float32]] = []
        while len(actions) < self.settings.transitions:
            for action in self.policy.act(observation_of(self.contract, seen))[0][: self.settings.execute]:
                actions.append(drift(action)[None])
                taken = self.teacher.step(actions[-1])
                seen = taken.observation
                rows.append((seen, dict(taken.labels), self.teacher.state))
                if len(actions) == self.settings.transitions:
                    break
        observed, labels, states = zip(*rows, strict=True)
        return Episode(
            frames=np.stack([join(self.contract, o.frames) for o in observed]),
            proprio=np.stack([o.proprio for o in observed]),
            actions=np.stack(actions),
            state=np.stack(states).astype(np.float32),
            labels={k: np.array([truth[k] for truth in labels], np.float32) for k in self.teacher.label_names},
            start=start,
            behaviour="policy",
        )


def observation_of(contract: Contract, seen: TeacherObservation) -> dict[str, Any]:
    """A batch of one, as an environment of the contract shows it."""
    keys = image_keys(contract)
    pictures = {k: seen.frames[c.name][None] for c, k in zip(contract.cameras, keys, strict=True)}
    low, high = contract.proprio_bounds()
    return {**pictures, PROPRIO_KEYS["plain"]: np.clip(seen.proprio, low, high)[None]}


class Drift:
    """A slow drift of a rollout's actions, its scale drawn from 0 to ``noise`` for each rollout."""

    def __init__(self, noise: float, contract: Contract, generator: np.random.Generator) -> None:
        self._scale = generator.uniform(0, noise)
        self._generator, self._drift = generator, np.zeros(contract.action_dim)
        self._low, self._high = contract.action_bounds()

    def __call__(self, action: NDArray[Any]) -> NDArray[np.float32]:
        """The action ``(A,)`` a little off, within the contract's bounds."""
        self._drift = 0.9 * self._drift + self._generator.normal(0.0, 0.44, len(self._drift)) * self._scale
        return np.clip(action + self._drift, self._low, self._high).astype(np.float32)
