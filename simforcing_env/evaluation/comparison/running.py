"""The loop over policies and starts that fills a ledger, and goes on where a killed one stopped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

import gymnasium as gym

from simforcing_env.chunk_env import ChunkVectorEnv
from simforcing_env.evaluation.comparison.outcome import Key, Outcome, read_outcomes
from simforcing_env.evaluation.comparison.parting import INSTRUMENTS, Instrument, parted
from simforcing_env.evaluation.comparison.playing import Trace, play
from simforcing_env.evaluation.comparison.protocol import SIDES, Protocol, Side, planned
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
    teacher_options: dict[str, Any] = field(default_factory=dict)
    _made: dict[tuple[bool, int, int], ChunkVectorEnv] = field(default_factory=dict)

    @property
    def contract(self) -> Contract:
        return self.simulator.contract

    def env(self, side: Side, count: int, chunk: int) -> ChunkVectorEnv:
        """An environment with ``count`` slots, in DISABLED mode."""
        key = (side == "learned", count, chunk)
        if key not in self._made:
            learned = {
                "checkpoint": self.simulator,
                "device": self.device,
                "precision": self.protocol.precision,
                "history": self.protocol.history,
                "sampler_steps": self.protocol.sampler_steps,
                "success_threshold": self.protocol.threshold,
            }
            made: Any = gym.make_vec(
                self.protocol.env if side == "learned" else self.protocol.teacher,
                num_envs=count,
                chunk=chunk,
                autoreset_mode="Disabled",
                frames_in_info=False,
                max_episode_steps=None,
                **(learned if side == "learned" else self.teacher_options),
            )
            self._made[key] = made.unwrapped
        return self._made[key]

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
    again: bool = True,
) -> dict[Key, Outcome]:
    """Run every policy from every start on every side and return all outcomes, those of earlier runs included.

    A batch of starts is run on all sides and then written. A batch that a kill interrupted is run again as a whole, so
    that its episodes have the neighbours that they would have had, and come out the same to the last bit.

    Args:
        again: also run the teacher with other seeds, for the noise floor.
    """
    protocol, contract = worlds.protocol, worlds.contract
    known = read_outcomes(ledger, protocol.hash)
    instrument: Instrument | None = INSTRUMENTS[contract.name]() if contract.name in INSTRUMENTS else None
    sides = SIDES if again else SIDES[:2]
    for policy in policies:
        chunk = protocol.chunk(policy.horizon, contract.actions_per_frame)
        for first in range(0, len(starts), protocol.batch):
            some = starts[first : first + protocol.batch]
            if all((side, policy.hash, start) in known for side in sides for start in some):
                continue
            traces: dict[str, list[Trace]] = {}
            outcomes: list[Outcome] = []
            for side in sides:
                episodes = planned(protocol, side, some, first)
                env = worlds.env(side, len(some), chunk)
                traces[side] = play(env, policy, episodes, protocol.frames)
                for row, (episode, trace) in enumerate(zip(episodes, traces[side], strict=True)):
                    apart = (
                        parted(trace, traces["true"][row], protocol, contract, instrument) if side == "learned" else {}
                    )
                    outcomes.append(_outcome(protocol, policy, episode.side, episode.start, episode.seed, trace, apart))
            watch(policy, outcomes, traces)
            fresh = [outcome for outcome in outcomes if outcome.key not in known]
            append_records(ledger, [outcome.line() for outcome in fresh])
            known |= {outcome.key: outcome for outcome in fresh}
    wanted = {(side, policy.hash, start) for side in get_args(Side) for policy in policies for start in starts}
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
    from world_model.pretrained import task_of

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
