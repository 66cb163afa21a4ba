"""Few-step samplers over models that predict clean latents."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from world_model.diffusion.flow import add_noise, level_grid
from world_model.interface import Denoised, History, WorldModel
from world_model.rules import Number, Several, Whole, follow, settle

STEPS = Whole(1, 1000)


@dataclass(frozen=True)
class EulerConfig:
    """Euler steps of the flow; one step is the model's mean prediction (direct regression)."""

    steps: int = 2
    shift: float = 1.0

    def __post_init__(self) -> None:
        settle(self, {"steps": STEPS})


class EulerSampler:
    """Deterministic Euler integration of ``dz/ds = (z - x) / s``; the start noise is the only randomness."""

    def __init__(self, config: EulerConfig) -> None:
        self.config = config
        self.steps = config.steps

    def with_steps(self, steps: int) -> EulerSampler:
        """The same sampler with another number of steps, in the range of `STEPS`."""
        return EulerSampler(replace(self.config, steps=steps))

    def sample(self, model: WorldModel, history: History, actions: Tensor, noise: Callable[[int], Tensor]) -> Denoised:
        return self.integrate(model, model.condition(history, actions), noise(0))

    def integrate(self, model: WorldModel, context: Any, z: Tensor) -> Denoised:
        """From noise ``z`` ``(B, n, C, U, V)`` under what ``model.condition`` gave."""
        levels = level_grid(self.config.steps, self.config.shift).tolist()
        for now, after in pairwise(levels):
            estimate = model.denoise(z, torch.full(z.shape[:2], now, device=z.device), context)
            z = estimate.latents + (after / now) * (z - estimate.latents)
        return estimate


@dataclass(frozen=True)
class RenoiseConfig:
    """Predict, add fresh noise at a lower level, predict again (the sampler of consistency models).

    ``levels`` after the first prediction at level 1; none of them means one call.
    """

    levels: tuple[float, ...] = (0.3,)

    def __post_init__(self) -> None:
        settle(self, {"levels": Several(Number(0, 1), least=0)})


class RenoiseSampler:
    """Stochastic multi-step sampler; step k > 0 starts from fresh noise k at ``levels[k - 1]``."""

    def __init__(self, config: RenoiseConfig) -> None:
        self.config = config
        self.steps = 1 + len(config.levels)

    def with_steps(self, steps: int) -> RenoiseSampler:
        """The same sampler with another number of `STEPS`: levels fall evenly from its highest towards 0."""
        steps = follow(STEPS, "sampler_steps", steps)
        highest = max(self.config.levels, default=RenoiseConfig.levels[0])
        return RenoiseSampler(RenoiseConfig(tuple(highest * (1 - k / (steps - 1)) for k in range(steps - 1))))

    def sample(self, model: WorldModel, history: History, actions: Tensor, noise: Callable[[int], Tensor]) -> Denoised:
        context = model.condition(history, actions)
        z = noise(0)
        ones = torch.ones(z.shape[:2], device=z.device)
        estimate = model.denoise(z, ones, context)
        for step, level in enumerate(self.config.levels, start=1):
            z = add_noise(estimate.latents, noise(step), level * ones)
            estimate = model.denoise(z, level * ones, context)
        return estimate
