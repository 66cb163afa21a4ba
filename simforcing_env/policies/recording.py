"""Rollouts of a policy in a true simulator as a data set: what it does, mistakes and failures included."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simforcing_env.policies.policy import Policy, Task, generators
from simforcing_env.policies.registry import make_policy
from simforcing_env.spaces import PROPRIO_KEYS, image_keys
from teachers.collection import Job
from teachers.recording import Split, recorder_for
from teachers.registry import make_teacher
from teachers.teacher import TeacherObservation
from world_model.canvas import join
from world_model.data.episode import Episode
from world_model.errors import InputError
from world_model.rules import Number, Whole, follow

FIRST = {"train": 0, "validation": 800_000, "test": 900_000}
_SALT = 7


@dataclass(frozen=True)
class PolicyJob(Job):
    """A `Job` whose episodes a policy plays; its options are those of `PolicyRecorder`."""

    def recorder(self) -> PolicyRecorder:  # type: ignore[override]  # as a Recorder it is one
        return PolicyRecorder(self.teacher, self.split, self.seed, self.options)


class PolicyRecorder:
    """Records Push-T episodes of ``transitions`` frames from the split's random starts.

    ``options``: "policy" (a specification of `policies.registry`), "transitions", "execute" (actions before it is asked
    again) and "noise" (standard deviation of a slow drift of its actions in units, drawn anew for each episode up to
    this, so that rollouts leave the beaten track).
    """

    def __init__(self, teacher: str, split: Split, seed: int, options: Mapping[str, Any]) -> None:
        if teacher != "pusht":
            raise InputError(f"policies are recorded in teacher 'pusht' only, not in {teacher!r}; choose it")
        self.split, self.seed = split, seed
        self.transitions = follow(Whole(1, 100_000), "transitions", options.get("transitions", 200))
        self.execute = follow(Whole(1, 1024), "execute", options.get("execute", 8))
        self.noise = follow(Number(0, 1000), "noise", options.get("noise", 0.0))
        self.teacher = make_teacher(teacher)
        self.contract = self.teacher.contract
        self.policy: Policy = make_policy(str(options["policy"]), self.contract)
        self.spec = recorder_for(self.contract, split, seed, {}).spec

    def describe(self) -> dict[str, Any]:
        """See `teachers.recording.Recorder`."""
        settings = {"transitions": self.transitions, "execute": self.execute, "noise": self.noise}
        return {"split": self.split, "seed": self.seed, "policy": self.policy.hash, **settings}

    def length(self, index: int) -> int:
        return self.transitions + 1

    def record(self, index: int) -> Episode:
        """Episode ``index``, the same whenever it is asked for."""
        start = f"seed-{FIRST[self.split] + (self.seed * 10_007 + index) % 100_000}"
        generator = generators([index], _SALT, self.seed)[0]
        scale = generator.uniform(0, self.noise)
        self.policy.reset([int(generator.integers(2**31))], [Task()])
        low, high = self.contract.action_bounds()
        seen, drift = self.teacher.reset(start), np.zeros(self.contract.action_dim)
        rows = [(seen, self.teacher.labels(), self.teacher.state)]
        actions: list[NDArray[np.float32]] = []
        while len(actions) < self.transitions:
            for action in self.policy.act(self._observation(seen))[0][: self.execute]:
                drift = 0.9 * drift + generator.normal(0.0, 0.44, len(drift)) * scale
                actions.append(np.clip(action + drift, low, high).astype(np.float32)[None])
                taken = self.teacher.step(actions[-1])
                seen = taken.observation
                rows.append((seen, dict(taken.labels), self.teacher.state))
                if len(actions) == self.transitions:
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

    def _observation(self, seen: TeacherObservation) -> dict[str, Any]:
        keys = image_keys(self.contract)
        pictures = {k: seen.frames[c.name][None] for c, k in zip(self.contract.cameras, keys, strict=True)}
        low, high = self.contract.proprio_bounds()
        return {**pictures, PROPRIO_KEYS["plain"]: np.clip(seen.proprio, low, high)[None]}
