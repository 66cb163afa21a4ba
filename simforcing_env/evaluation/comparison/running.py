"""The loop over policies and starts that fills a ledger, and goes on where a killed one stopped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from simforcing_env.chunk_env import ChunkVectorEnv
from simforcing_env.evaluation.comparison.outcome import Key, Outcome, read_outcomes
from simforcing_env.evaluation.comparison.parting import INSTRUMENTS, Instrument, parted
from simforcing_env.evaluation.comparison.playing import Trace, play
from simforcing_env.evaluation.comparison.protocol import SIDES, Protocol, Side, planned
from simforcing_env.evaluation.comparison.starts import task_words
from simforcing_env.policies.policy import Policy
from world_model.contract import Contract
from world_model.ledger import append_records
from world_model.pretrained import LearnedSimulator, task_of


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
) -> dict[Key, Outcome]:
    """Run every policy from every start on every side and return all outcomes, those of earlier runs included.

    A batch of starts is run on all sides and then written. A batch that a kill interrupted is run again as a whole, so
    that its episodes have the neighbours that they would have had, and come out the same to the last bit.

    Args:
        step: told the number of batches that are done.
        sides: to run; a learned episode is held against the true one only where that runs in the same call.
    """
    protocol, contract = worlds.protocol, worlds.contract
    known = read_outcomes(ledger, protocol.hash)
    instrument: Instrument | None = INSTRUMENTS[contract.name]() if contract.name in INSTRUMENTS else None
    words = task_words(contract.name)
    done = 0
    for policy in policies:
        chunk = protocol.chunk(policy.horizon, contract.actions_per_frame)
        for first in range(0, len(starts), protocol.batch):
            some = starts[first : first + protocol.batch]
            done += 1
            if all((side, policy.hash, start) in known for side in sides for start in some):
                continue
            traces: dict[str, list[Trace]] = {}
            outcomes: list[Outcome] = []
            for side in sides:
                episodes = planned(protocol, side, some, first)
                env = worlds.env(side, len(some), chunk)
                traces[side] = play(env, policy, episodes, protocol.frames, words)
                for row, (episode, trace) in enumerate(zip(episodes, traces[side], strict=True)):
                    apart = {}
                    if side == "learned" and "true" in traces:
                        apart = parted(trace, traces["true"][row], protocol, contract, instrument)
                    outcomes.append(_outcome(protocol, policy, episode.side, episode.start, episode.seed, trace, apart))
            watch(policy, outcomes, traces)
            fresh = [outcome for outcome in outcomes if outcome.key not in known]
            append_records(ledger, [outcome.line() for outcome in fresh])
            known |= {outcome.key: outcome for outcome in fresh}
            step(done)
    wanted = {(side, policy.hash, start) for side in SIDES for policy in policies for start in starts}
    return {key: outcome for key, outcome in known.items() if key in wanted}


def _outcome(
    protocol: Protocol,
    policy: Policy,
    side: str,
    start: str,
    seed: int,
    trace: Trace,
    apart: dict[str, int | None],
) -> Outcome:
    doubts = trace.uncertainty or [0.0]
    return Outcome(
        protocol=protocol.hash,
        checkpoint=protocol.checkpoint,
        contract=protocol.contract,
        policy_hash=policy.hash,
        policy=policy.name,
        side=side,
        start=start,
        task=task_of(start),
        seed=seed,
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
    )
