"""Rollouts of a policy in the LIBERO simulator as a data set, for a world model to learn its mistakes from."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simforcing_env.policies.policy import Policy, Task, generators
from simforcing_env.policies.recording import Drift, RolloutSettings, observation_of
from simforcing_env.policies.registry import make_policy
from teachers.libero.recording import LiberoRecorder
from teachers.recording import Split, recorder_for
from teachers.teacher import TeacherObservation
from world_model.contract import Contract
from world_model.data.episode import Episode
from world_model.errors import InputError

_SALT = 11


class ArmPolicyRecorder:
    """Records LIBERO episodes of at most ``transitions`` actions from the split's starts, the suite's tasks in turn.

    ``options``: those of `PolicyRecorder`, and "contract", the JSON of the contract to record under.

    Raises:
        InputError: ``execute`` is no multiple of the actions of a frame, or longer than the policy plans.
    """

    def __init__(self, split: Split, seed: int, options: Mapping[str, Any]) -> None:
        contract = self.contract = Contract.from_json(options["contract"])
        recorder = recorder_for(contract, split, seed, {})
        if not isinstance(recorder, LiberoRecorder):
            raise InputError(f"policies are recorded in Push-T and LIBERO only, not in {contract.name!r}; choose one")
        self.inner, self.spec, self.split, self.seed = recorder, recorder.spec, split, seed
        self.settings = RolloutSettings.of(options)
        self.policy: Policy = make_policy(str(options["policy"]), contract)
        execute = self.settings.execute
        if execute % contract.actions_per_frame or execute > self.policy.horizon:
            raise InputError(
                f"execute is {execute} but must be a multiple of the {contract.actions_per_frame} actions of a "
                f"frame and no more than the {self.policy.horizon} that {self.policy.name!r} plans"
            )

    def describe(self) -> dict[str, Any]:
        """See `teachers.recording.Recorder`."""
        return {"split": self.split, "seed": self.seed, "policy": self.policy.hash, **asdict(self.settings)}

    def length(self, index: int) -> int | None:
        """Not known before: an episode ends with its success."""
        return None

    def record(self, index: int) -> Episode:
        """Episode ``index``, the same whenever it is asked for."""
        plan = self.inner.plan(index)
        number = int(plan.start.split("/")[1])
        generator = generators([index], _SALT, self.seed)[0]
        player = _Acting(self, Task(number, self.spec.tasks[number]), generator)
        limit = math.ceil(self.settings.transitions / self.contract.actions_per_frame)
        return self.inner.play(plan.start, lambda world: player, limit, plan.after, "policy")


class _Acting(Iterator[NDArray[np.floating]]):
    """The policy's actions; it is asked again when what it planned is over."""

    def __init__(self, recorder: ArmPolicyRecorder, task: Task, generator: np.random.Generator) -> None:
        self.over, self.succeeded = False, False
        self._recorder = recorder
        self._seen: dict[str, Any] = {}
        self._drift = Drift(recorder.settings.noise, recorder.contract, generator)
        self._planned: deque[NDArray[np.float32]] = deque()
        recorder.policy.reset([int(generator.integers(2**31))], [task])

    def see(self, observation: TeacherObservation) -> None:
        self._seen = observation_of(self._recorder.contract, observation)

    def __next__(self) -> NDArray[np.floating]:
        if not self._planned:
            self._planned.extend(self._recorder.policy.act(self._seen)[0][: self._recorder.settings.execute])
        return self._drift(self._planned.popleft())
