"""What a network is trained to say about noisy frames, and how a clean estimate is read from it.

Models and samplers meet at levels ``s``: ``z = (1 - s) x + s e``. The variance-preserving noise of DDPM is the same up
to a factor, ``z / sqrt((1 - s)^2 + s^2)`` being its ``x_t`` at the step whose signal and noise stand in the ratio
``(1 - s) : s``. So every sampler runs every model, whichever of the two it was trained with.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from world_model.diffusion.flow import NoiseConfig, draw_levels, level_weight
from world_model.rules import Number, Whole, settle


@dataclass(frozen=True)
class DdpmConfig:
    """Linear schedule of noise variances, as published."""

    steps: int = 1000
    first: float = 1e-4
    last: float = 0.02

    def __post_init__(self) -> None:
        settle(self, {"steps": Whole(2, 100_000), "first": Number(1e-9, 0.999), "last": Number(1e-9, 0.999)})


class Objective(Protocol):
    """Clean estimates, targets and levels of one way of training; levels ``(B, n)`` are of latents ``(B, n, ...)``."""

    weighted: bool
    """Whether channels of the answer may count unequally in the loss. Those of noise or velocity may not: unlearned
    ones would grow while sampling, however little they show."""

    def draw(self, shape: tuple[int, ...], generator: torch.Generator, device: torch.device) -> Tensor:
        """Levels to train on."""

    def counts(self, levels: Tensor) -> Tensor | float:
        """How much the error at ``levels`` counts in the loss."""

    def enter(self, noisy: Tensor, levels: Tensor) -> tuple[Tensor, Tensor]:
        """What the network sees of ``noisy``, and its time in [0, 1000) of each level."""

    def target(self, clean: Tensor, noise: Tensor) -> Tensor:
        """What the network should answer."""

    def clean(self, answer: Tensor, noisy: Tensor, levels: Tensor) -> Tensor:
        """The clean estimate."""


class Ddpm:
    """The network tells the noise; times are whole steps in training, and in between where a sampler asks for it."""

    weighted = False

    def __init__(self, config: DdpmConfig) -> None:
        self.config = config
        betas = torch.linspace(config.first, config.last, config.steps, dtype=torch.float64)
        self.signal = (1 - betas).cumprod(0)  # alpha bar
        sigma, alpha = (1 - self.signal).sqrt(), self.signal.sqrt()
        self.levels = sigma / (sigma + alpha)  # (steps,), rising

    def level(self, steps: Tensor) -> Tensor:
        """Levels, float32, of whole steps."""
        return self.levels.to(steps.device)[steps].float()

    def draw(self, shape: tuple[int, ...], generator: torch.Generator, device: torch.device) -> Tensor:
        steps = torch.randint(self.config.steps, shape, generator=generator, device=generator.device)
        return self.level(steps).to(device)

    def counts(self, levels: Tensor) -> Tensor | float:
        return 1.0

    def enter(self, noisy: Tensor, levels: Tensor) -> tuple[Tensor, Tensor]:
        s = over(levels, noisy)
        seen = noisy.float() / ((1 - s).square() + s.square()).sqrt()
        table = self.levels.float().to(levels.device)
        within = levels.float().clamp(table[0], table[-1])
        above = torch.searchsorted(table, within.contiguous()).clamp(1, len(table) - 1)
        low, high = table[above - 1], table[above]
        return seen, (above - 1 + (within - low) / (high - low)) * (1000 / self.config.steps)

    def target(self, clean: Tensor, noise: Tensor) -> Tensor:
        return noise

    def clean(self, answer: Tensor, noisy: Tensor, levels: Tensor) -> Tensor:
        """At level 1 there is no signal to divide by: the schedule's last step is taken for it, as its samplers do."""
        seen, _ = self.enter(noisy, levels)
        s = over(levels, noisy).clamp(max=float(self.levels[-1]))
        return (seen * ((1 - s).square() + s.square()).sqrt() - s * answer.float()) / (1 - s)


class Flow:
    """The network tells the flow's velocity, noise minus clean."""

    weighted = False

    def __init__(self, config: NoiseConfig) -> None:
        self.config = config

    def draw(self, shape: tuple[int, ...], generator: torch.Generator, device: torch.device) -> Tensor:
        return draw_levels(shape, self.config, generator, device)

    def counts(self, levels: Tensor) -> Tensor | float:
        return 1.0

    def enter(self, noisy: Tensor, levels: Tensor) -> tuple[Tensor, Tensor]:
        return noisy, levels * 1000

    def target(self, clean: Tensor, noise: Tensor) -> Tensor:
        return noise - clean

    def clean(self, answer: Tensor, noisy: Tensor, levels: Tensor) -> Tensor:
        return noisy.float() - over(levels, noisy) * answer.float()


class Clean(Flow):
    """On the flow's path, but the network tells the clean latents, which small networks learn much sooner."""

    weighted = True

    def target(self, clean: Tensor, noise: Tensor) -> Tensor:
        return clean

    def clean(self, answer: Tensor, noisy: Tensor, levels: Tensor) -> Tensor:
        return answer.float()


class Bell(Flow):
    """The flow's velocity, of which middle levels count most and pure noise nothing, as Wan's public trainers do."""

    def counts(self, levels: Tensor) -> Tensor:
        return level_weight(levels, self.config.shift)


def over(levels: Tensor, like: Tensor) -> Tensor:
    """``levels`` ``(B, n)`` in float32 with ones for the further axes of ``like`` ``(B, n, ...)``."""
    return levels.float().reshape(levels.shape + (1,) * (like.ndim - levels.ndim))


OBJECTIVES: dict[str, Callable[[NoiseConfig], Objective]] = {
    "ddpm": lambda noise: Ddpm(DdpmConfig()),
    "flow": Flow,
    "clean": Clean,
    "bell": Bell,
}
"""By name, from the way in which flow matching draws its levels."""
