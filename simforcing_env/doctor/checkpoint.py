"""Does a learned simulator do as the contract says? Its starts are driven by known actions, then checked like data."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from simforcing_env.doctor.alignment import pairs
from simforcing_env.doctor.episodes import check_episodes
from simforcing_env.doctor.finding import Finding
from teachers.registry import TEACHERS, make_teacher
from world_model.contract import Contract
from world_model.data.episode import Episode
from world_model.errors import ContractError, MissingExtraError
from world_model.pretrained import LearnedSimulator
from world_model.rollout import Rollout

STARTS, FRAMES, SEED = 16, 24, 7
STRIDE = 0.05  # of an action's range: how far a target wanders in a frame

Advance = Callable[[NDArray[np.float32]], tuple[NDArray[np.uint8], NDArray[np.float32]]]
"""Actions ``(B, n, a, A)`` in units to frames ``(B, n, H, W, 3)`` and proprio ``(B, n, P)`` in units."""


def check_checkpoint(simulator: LearnedSimulator) -> list[Finding]:
    """Contract, starts, and what the model does with known actions from its starts."""
    findings = [contract_finding(simulator)]
    if simulator.starts is None or not len(simulator.starts):
        mend = "save the checkpoint with starts, so that it can be driven without a simulator"
        return [*findings, Finding("starts", "warning", "the checkpoint holds no starts", mend)]
    findings.append(Finding("starts", "ok", f"{len(simulator.starts)} starts"))
    rows = np.linspace(0, len(simulator.starts) - 1, min(STARTS, len(simulator.starts))).astype(int)
    frames, proprio = simulator.starts.frames[rows], simulator.starts.proprio[rows]
    advance = _drive(simulator, frames, proprio)
    return [*findings, *check_driven(advance, frames, proprio, simulator.contract)]


def check_driven(
    advance: Advance, frames: NDArray[np.uint8], proprio: NDArray[np.float32], contract: Contract
) -> list[Finding]:
    """Drive B starts, ``frames`` ``(B, H, W, 3)`` and ``proprio`` ``(B, P)``, and check what comes back."""
    actions = probing_actions(proprio, contract, FRAMES, np.random.default_rng(SEED))
    new_frames, new_proprio = advance(actions)
    episodes = [
        Episode(
            frames=np.concatenate([frames[b : b + 1], new_frames[b]]),
            proprio=np.concatenate([proprio[b : b + 1], new_proprio[b]]).astype(np.float32),
            actions=actions[b],
            start=f"start {b}",
        )
        for b in range(len(frames))
    ]
    return check_episodes(episodes, contract)


def probing_actions(
    proprio: NDArray[np.float32], contract: Contract, frames: int, generator: np.random.Generator
) -> NDArray[np.float32]:
    """Actions ``(B, frames, a, A)`` that wander: absolute ones from where the proprio is, relative ones about 0."""
    batch, per_frame = len(proprio), contract.actions_per_frame
    low, high = contract.action_bounds()
    middle = (low + high) / 2
    own = {pair.action: pair.proprio for pair in pairs(contract)}
    actions = np.zeros((batch, frames, per_frame, contract.action_dim), np.float32)
    for i, dim in enumerate(contract.actions):
        reach = float(high[i] - low[i])
        steps = generator.normal(0.0, 1.0, (batch, frames))
        if dim.kind == "absolute" and "gripper" not in dim.name:
            first = proprio[:, own[i]] if i in own else np.full(batch, middle[i])
            walk = first[:, None] + np.cumsum(STRIDE * reach * steps, axis=1)
            walk = _reflect(np.asarray(walk, np.float64), float(low[i]), float(high[i]))
        else:
            walk = middle[i] + 0.3 * reach * np.clip(steps, -1.5, 1.5)
        actions[..., i] = walk[:, :, None]
    return actions


def _reflect(values: NDArray[np.float64], low: float, high: float) -> NDArray[np.float64]:
    """Fold values back into [low, high] as a mirror at either end would."""
    phase = (values - low) % (2 * (high - low))
    return low + np.minimum(phase, 2 * (high - low) - phase)


def contract_finding(simulator: LearnedSimulator) -> Finding:
    """The contract's hash, held against the true simulator's own where that one is installed."""
    contract = simulator.contract
    text = f"checkpoint {simulator.hash}, contract {contract.hash} ({contract.name})"
    if contract.name not in TEACHERS:
        return Finding("contract", "note", f"{text}; there is no true simulator of this name to compare it with")
    try:
        make_teacher(contract.name, contract)
    except MissingExtraError as error:
        return Finding("contract", "note", f"{text}; not compared with the true simulator's", str(error))
    except ContractError as error:
        return Finding("contract", "fault", text, str(error))
    return Finding("contract", "ok", f"{text}, the same as the true simulator's")


def _drive(simulator: LearnedSimulator, frames: NDArray[np.uint8], proprio: NDArray[np.float32]) -> Advance:
    rollout = Rollout(simulator.model, simulator.codec, simulator.contract, simulator.sampler, simulator.history)
    state = rollout.start(frames, proprio, np.arange(len(frames)))

    def advance(actions: NDArray[np.float32]) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
        _, generated = rollout.advance(state, actions)
        return generated.frames, generated.proprio

    return advance
