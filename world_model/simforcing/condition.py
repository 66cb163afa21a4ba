"""The simulator's latents as a condition: added to the features of chosen blocks, gated, corrupted in training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from einops import rearrange
from torch import Tensor, nn

from world_model.diffusion.flow import draw_noise
from world_model.errors import InputError
from world_model.rules import Number, Several, Whole, settle


@dataclass(frozen=True)
class ConditionConfig:
    """Which blocks are told of the simulator, and how training spoils what they are told; as published."""

    blocks: tuple[int, ...] = ()
    """Numbers of blocks; all of them if none is given."""
    present: float = 0.7
    """Share of training examples that see the simulator's latents at all."""
    corrupted: float = 0.4
    """Share of these whose latents are faded and noised."""
    kept: tuple[float, float] = (0.5, 0.9)
    """Range of the part of corrupted latents that stays."""
    noise: tuple[float, float] = (0.1, 0.3)
    """Range of the standard deviation of the noise that takes the rest's place."""

    def __post_init__(self) -> None:
        share = Number(0, 1)
        settle(self, {"blocks": Several(Whole(0, 100_000), least=0), "present": share, "corrupted": share})
        settle(self, {"kept": Several(share, 2), "noise": Several(Number(0, 1e3), 2)})
        for name in ("kept", "noise"):
            low, high = getattr(self, name)
            if low > high:
                raise InputError(f"{name} is {low} to {high} but must rise; swap the two")


class SimCondition(nn.Module):
    """A convolution for each conditioned block, zero at first, from latent patches to that block's tokens.

    A model that has never seen a simulator is left as it is until training opens the convolutions.

    Args:
        sizes: of every block of the model, its channels and the side of a patch.

    Raises:
        InputError: a block that the model has not.
    """

    def __init__(self, config: ConditionConfig, channels: int, sizes: Sequence[tuple[int, int]]) -> None:
        super().__init__()
        self.config = config
        depth = len(sizes)
        blocks = config.blocks or tuple(range(depth))
        missing = [block for block in blocks if block >= depth]
        if missing:
            raise InputError(f"blocks names {missing[0]} but the model has {depth}; name some of 0 to {depth - 1}")
        self.into = nn.ModuleDict({str(block): _zero_convolution(channels, *sizes[block]) for block in blocks})

    def forward(self, block: int, latents: Tensor, gate: Tensor) -> Tensor | None:
        """What to add to the tokens of ``block``: ``(B, T, P, D)``, or None where it is not conditioned.

        ``latents`` ``(B, T, C, U, V)`` are the simulator's; ``gate`` ``(B,)`` is 0 where they are not to be seen.
        """
        if str(block) not in self.into:
            return None
        tokens = self.into[str(block)](latents.flatten(0, 1))  # (B T, D, U', V')
        tokens = rearrange(tokens, "(b t) d u v -> b t (u v) d", b=len(latents))
        return gate.to(tokens.dtype)[:, None, None, None] * tokens


def _zero_convolution(channels: int, dim: int, patch: int) -> nn.Conv2d:
    layer = nn.Conv2d(channels, dim, patch, stride=patch)
    nn.init.zeros_(layer.weight)
    assert layer.bias is not None
    nn.init.zeros_(layer.bias)
    return layer


def draw_gate(count: int, present: float, generator: torch.Generator, device: torch.device | str = "cpu") -> Tensor:
    """``(count,)`` of 1 with probability ``present``, else 0."""
    drawn = torch.rand(count, generator=generator, device=generator.device)
    return (drawn < present).float().to(device)


def fade(latents: Tensor, kept: Tensor | float, deviation: Tensor | float, generator: torch.Generator) -> Tensor:
    """``kept z + (1 - kept) deviation e``: a part stays, noise takes the rest's place."""
    return kept * latents + (1 - kept) * deviation * draw_noise(latents, generator)


def corrupt(latents: Tensor, config: ConditionConfig, generator: torch.Generator) -> Tensor:
    """``(B, T, ...)`` of which a share is ``a z + (1 - a) sd e``, with a and sd drawn for each example."""
    count, device = len(latents), latents.device
    drawn = torch.rand(3, count, generator=generator, device=generator.device).to(device)
    low, high = (torch.tensor(pair, device=device) for pair in zip(config.kept, config.noise, strict=True))
    kept, deviation = (low[:, None] + (high - low)[:, None] * drawn[1:]).reshape(2, count, *[1] * (latents.ndim - 1))
    spoiled = fade(latents, kept, deviation, generator)
    chosen = (drawn[0] < config.corrupted).reshape(count, *[1] * (latents.ndim - 1))
    return torch.where(chosen, spoiled, latents)
