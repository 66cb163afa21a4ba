"""What form e holds on its way: the anchor, what is foreseen of a frame, and what a lesson teaches aside."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from world_model.models.forecast import STEP_SCALE


@dataclass(frozen=True)
class Anchor:
    """A true frame: its latents, its features at two scales, and the key points read from it."""

    latents: Tensor  # (B, C, U, V)
    features: Tensor  # (B, W, U, V)
    deep: Tensor  # (B, W', U/2, V/2)
    state: Tensor  # (B, S)
    doubt: Tensor  # (B, 1) log of the state's expected mean squared error


@dataclass(frozen=True)
class Context:
    """The anchor, the condition vector ``(B, D)`` and the forecast: proprio, state and doubt as in `Anchor`."""

    anchor: Anchor
    condition: Tensor
    proprio: Tensor  # (B, P)
    state: Tensor
    doubt: Tensor


@dataclass(frozen=True)
class Step:
    """What is foreseen of one frame; see `Context`."""

    condition: Tensor
    proprio: Tensor
    state: Tensor
    doubt: Tensor


@dataclass(frozen=True)
class Aside:
    """What a lesson teaches beside drawing: the anchor as it was read, its true state, and how far it is from there."""

    anchor: Anchor
    state: Tensor  # (R, S)
    apart: Tensor  # (R,) mean square distance of its proprio and state from the target's


def forget(anchor: Anchor, share: float, generator: torch.Generator) -> Anchor:
    """``anchor`` without its pictures in a random ``share`` of rows."""
    shape = (len(anchor.latents), 1, 1, 1)
    keep = (torch.rand(shape, generator=generator, device=generator.device) >= share).to(anchor.features)
    return replace(anchor, latents=anchor.latents * keep, features=anchor.features * keep, deep=anchor.deep * keep)


def limit_gradient(x: Tensor, steps: int) -> Tensor:
    """Keep what flows back from later steps of an unrolled forecast within a few times the step's own share.

    Contacts make the chain of Jacobians explode; one step's smooth L1 has gradients of at most ``own``.
    """
    own = 1 / (STEP_SCALE * x.numel() * steps)
    x = x.clone()
    x.register_hook(lambda g: g.clamp(-3 * own, 3 * own))  # type: ignore[no-untyped-call]
    return x
