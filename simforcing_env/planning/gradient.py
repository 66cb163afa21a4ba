"""Gradient refinement through a model that foresees without drawing (the idea of GPC-OPT)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from simforcing_env.planning.model_world import ForeseenWorld
from simforcing_env.planning.world import Array
from world_model.errors import InputError
from world_model.rules import Number, Whole, settle


@dataclass(frozen=True)
class GradientConfig:
    """Adam on the actions themselves."""

    steps: int = 8
    rate: float = 0.01
    """Of Adam, in [-1, 1]; 0.01 moves a target by up to 2.5 px of Push-T a step."""
    leash: float = 200.0
    """Weight of the mean squared change of the chunk: it stays where the policy, and so the model, is at home."""
    penalty: float = 0.5
    """Of doubt, as the scorer's."""

    def __post_init__(self) -> None:
        settle(self, {"steps": Whole(1, 1000), "rate": Number(1e-6, 1), "leash": Number(0, 1e6)})
        settle(self, {"penalty": Number(0, 1e6)})


def refine(world: ForeseenWorld, chunks: Array, goal: Array, config: GradientConfig) -> Array:
    """Chunks ``(B, K, n, A)`` moved so that the foreseen key points come nearer to ``goal`` ``(S,)``.

    Raises:
        InputError: a world that draws, through which no gradient flows.
    """
    if not isinstance(world, ForeseenWorld):
        raise InputError(f"gradients do not flow through a {type(world).__name__}; plan without pictures")
    contract = world.contract
    shape = chunks.shape
    first = torch.from_numpy(contract.normalize_actions(chunks)).flatten(0, 1)
    first = first.reshape(len(first), -1, contract.actions_per_frame, first.shape[-1])
    actions, wanted = first.clone().requires_grad_(True), torch.from_numpy(np.asarray(goal, np.float32))
    start = world.begin.repeat(shape[1]).map(torch.clone)  # inference tensors cannot be part of a graph
    optimizer = torch.optim.Adam([actions], lr=config.rate)
    for _ in range(config.steps):
        _, _, state, doubt = world.foresight.run(start, actions.clamp(-1, 1))
        away = _distance(state[:, -1], wanted) + config.penalty * doubt[:, -1].mul(0.5).exp()
        loss = (away + config.leash * (actions - first).square().mean(dim=(1, 2, 3)) / len(wanted)).sum()
        optimizer.zero_grad()
        torch.autograd.backward(loss, inputs=[actions])
        optimizer.step()
    better = actions.detach().clamp(-1, 1).reshape(shape).numpy()
    return contract.denormalize_actions(better)


def _distance(state: Tensor, goal: Tensor) -> Tensor:
    """Mean distance of key points ``(N, S)`` from ``goal`` ``(S,)``."""
    away = (state - goal).reshape(len(state), -1, 2)
    return away.square().sum(-1).add(1e-8).sqrt().mean(-1)
