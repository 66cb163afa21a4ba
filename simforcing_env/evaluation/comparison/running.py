"""The loop over policies and starts that fills a ledger, and goes on where a killed one stopped."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from simforcing_env.chunk_env import ChunkVectorEnv
from simforcing_env.evaluation.comparison.judges import Judges
from simforcing_env.evaluation.comparison.outcome import Key, Outcome, read_outcomes
from simforcing_env.evaluation.comparison.parting import instrument_for, parted
from simforcing_env.evaluation.comparison.playing import Clock, Trace, play
from simforcing_env.evaluation.comparison.protocol import SIDES, Planned, Protocol, Side, planned
from simforcing_env.evaluation.comparison.starts import task_words
from simforcing_env.policies.policy import Policy
from world_model.contract import Contract
from world_model.ledger import append_records
from world_model.pretrained import LearnedSimulator


@dataclass
class Worlds:
    """The environments of a comparison, made when they are first needed."""

    protocol: Protocol
    simulator: LearnedSimulator
    device: str = "cpu"
    _made: dict[tuple[bool, int, int], ChunkVectorEnv] = field(default_factory=dict)

    @property
    def contract(self) -> Contract:
        return self.simulator.contract

    def env(self, side: Side, count: int, chunk: int) -> ChunkVectorEnv:
        """An environment with ``count`` slots, in DISABLED mode."""
        key = (side == "learned", count, chunk)
        if key not in self._made:
            self._made[key] = self._learned(count, chunk) if side == "learned" else self._true(count, chunk)
        return self._made[key]

    def _learned(self, count: int, chunk: int) -> ChunkVectorEnv:
        from simforcing_env.vector_env import WorldModelVectorEnv

        protocol = self.protocol
        return WorldModelVectorEnv(
            count,
            checkpoint=self.simulator,
            history=protocol.history,
            sampler_steps=protocol.sampler_steps,
            device=self.device,
            precision=protocol.precision,
            success_threshold=protocol.threshold,
            chunk=chunk,
            autoreset_mode="Disabled",
            frames_in_info=False,
        )

    def _true(self, count: int, chunk: int) -> ChunkVectorEnv:
        from simforcing_env.teacher_env import TeacherVectorEnv
        from teachers.registry import make_teacher

        contract = self.contract
        return TeacherVectorEnv(
            count,
            teacher=lambda: make_teacher(contract.name, contract),
            chunk=chunk,
            autoreset_mode="Disabled",
            frames_in_info=False,
        )

    def close(self) -> None:
        """Close all of them."""
        for env in self._made.values():
            env.close()
        self._made.clear()


Watch = Callable[[Policy, list[Outcome], dict[str, list[Trace]]], None]
"""Told what a batch came to, side by side with what was seen in it."""


def run_comparison(
    worlds: Worlds,
    policies: Sequence[Policy],
    starts: Sequence[str],
    ledger: Path,
    *,
    watch: Watch = lambda policy, outcomes, traces: None,
    step: Callable[[int], None] = lambda done: None,
    sides: Sequence[Side] = SIDES,
    again: Collection[str] | None = None,
    judges: Judges | None = None,
    clock: Clock = time.perf_counter,
) -> dict[Key, Outcome]:
    """Run every policy from every start on every side and return all outcomes, those of earlier runs included.

    All policies run a batch of starts before the next batch comes, so that true scenes, which take long to make, are
    made once, and so that what an interrupted run leaves is a comparison from fewer starts. A batch is run on all sides
    and then written. A batch that a kill interrupted is run again as a whole, so that its episodes have the neighbours
    that they would have had, and come out the same to the last bit.

    Args:
        step: told the number of batches that are done.
        sides: to run; a learned episode is held against the true one only where that runs in the same call.
        again: starts of the noise floor, None for all.
        judges: further opinions about learned episodes.
        clock: seconds, of which policies and environments are charged their part.
    """
    protocol, contract = worlds.protocol, worlds.contract
    known = read_outcomes(ledger, protocol.hash)
    instrument, words = instrument_for(worlds.simulator), task_words(contract.name)
    chosen = set(starts) if again is None else set(again)
    done = 0
    for first in range(0, len(starts), protocol.batch):
        some = starts[first : first + protocol.batch]
        wanted = {side: [s for s in some if side != "again" or s in chosen] for side in sides}
        for policy in policies:
            chunk = protocol.chunk(policy.horizon, contract.actions_per_frame)
            done += 1
            if all((side, policy.hash, start) in known for side, own in wanted.items() for start in own):
                continue
            traces: dict[str, list[Trace]] = {}
            outcomes: list[Outcome] = []
            for side, own in wanted.items():
                if not own:
                    continue
                episodes = [e for e in planned(protocol, side, some, first) if e.start in own]
                env = worlds.env(side, len(own), chunk)
                traces[side] = play(env, policy, episodes, protocol.frames, words, clock)
                for row, (episode, trace) in enumerate(zip(episodes, traces[side], strict=True)):
                    apart, opinions = {}, {}
                    if side == "learned" and "true" in traces:
                        apart = parted(trace, traces["true"][row], protocol, contract, instrument)
                    if side == "learned" and judges is not None:
                        opinions = judges.opinions(episode.task, trace)
                    outcomes.append(_outcome(protocol, policy, episode, trace, apart, opinions))
            watch(policy, outcomes, traces)
            fresh = [outcome for outcome in outcomes if outcome.key not in known]
            append_records(ledger, [outcome.line() for outcome in fresh])
            known |= {outcome.key: outcome for outcome in fresh}
            step(done)
    asked = {(side, policy.hash, start) for side in SIDES for policy in policies for start in starts}
    return {key: outcome for key, outcome in known.items() if key in asked}


def _outcome(
    protocol: Protocol,
    policy: Policy,
    episode: Planned,
    trace: Trace,
    apart: dict[str, int | None],
    opinions: Mapping[str, Any],
) -> Outcome:
    doubts = trace.uncertainty or [0.0]
    return Outcome(
        protocol=protocol.hash,
        checkpoint=protocol.checkpoint,
        contract=protocol.contract,
        policy_hash=policy.hash,
        policy=policy.name,
        side=episode.side,
        start=episode.start,
        task=episode.task,
        seed=episode.seed,
        success=trace.success_frame is not None,
        success_frame=trace.success_frame,
        frames=trace.success_frame or trace.frame[-1],
        best={name: round(max(values), 6) for name, values in trace.labels.items()},
        last={name: round(values[-1], 6) for name, values in trace.labels.items()},
        uncertainty=float(f"{sum(doubts) / len(doubts):.6g}"),
        uncertainty_most=float(f"{max(doubts):.6g}"),
        parted=apart,
        policy_s=round(trace.seconds[0], 4),
        env_s=round(trace.seconds[1], 4),
        **opinions,
    )
