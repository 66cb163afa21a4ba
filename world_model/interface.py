"""The typed values that rooms hand to each other, and the protocols that models and codecs meet.

Letters: B batch, T frames of a clip, h history frames, n new frames, C latent channels, U x V latent
grid, a actions per frame, A action dimensions, P proprio dimensions, S teacher-state dimensions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Protocol, TypeVar

import torch
from torch import Tensor

Rows = TypeVar("Rows", bound="_Rows")


@dataclass(frozen=True)
class _Rows:
    """A record of tensors that share their first axis (the batch)."""

    def map(self: Rows, function: Callable[[Tensor], Tensor]) -> Rows:
        """Apply ``function`` to every tensor that is present."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return type(self)(**{k: v if v is None else function(v) for k, v in values.items()})


@dataclass(frozen=True)
class History(_Rows):
    """Clean frames that a generation is conditioned on, the actions between them, and what the model remembers.

    Frames before the first one of an episode are padded by repeating it, with ``valid`` False;
    action ``i`` (from frame i to i+1) counts only where ``valid[:, i]``.
    """

    latents: Tensor  # (B, h, C, U, V)
    proprio: Tensor  # (B, h, P) in [-1, 1]
    actions: Tensor  # (B, h - 1, a, A) in [-1, 1]
    valid: Tensor  # (B, h) bool; the last frame is always valid
    memory: Tensor | None = None  # (B, M) what the model carries beyond frames; None or NaN: it reads it from them
    text: Tensor | None = None  # (B, L, E) embedded words, padded with zeros; None: the model's own, if it has any


@dataclass(frozen=True)
class Clip(_Rows):
    """Training window: as `History` over T frames, with the teacher's state where recorded."""

    latents: Tensor  # (B, T, C, U, V)
    proprio: Tensor  # (B, T, P) in [-1, 1]
    actions: Tensor  # (B, T - 1, a, A) in [-1, 1]
    valid: Tensor  # (B, T) bool
    state: Tensor | None = None  # (B, T, S) about [-1, 1]; privileged, a training target only
    text: Tensor | None = None  # (B, L, E) as of `History`

    def history(self, start: int, stop: int) -> History:
        """Frames ``start`` to ``stop`` (exclusive) as a `History`."""
        return History(
            self.latents[:, start:stop],
            self.proprio[:, start:stop],
            self.actions[:, start : stop - 1],
            self.valid[:, start:stop],
            text=self.text,
        )


@dataclass(frozen=True)
class Denoised(_Rows):
    """A model's estimate of n clean frames."""

    latents: Tensor  # (B, n, C, U, V)
    proprio: Tensor  # (B, n, P) in [-1, 1]
    log_error: Tensor  # (B, n) natural log of the expected latent mean squared error
    memory: Tensor | None = None  # (B, n, M) to be carried on


class WorldModel(Protocol):
    """Anything that denoises the next frames; every class under `world_model.models` is one.

    ``condition`` does the work that does not depend on the noisy frames, once per generation; ``denoise`` is then
    called once per sampler step. ``frames_per_call`` is 1 for next-frame models and 0 for models that take any number
    of frames at once, ``chunk`` at best if that is given. A model may carry ``memory_dim`` numbers from frame to frame
    (0 or no such attribute: frames alone); it must be able to begin from frames without them. The first ``state_dim``
    of these (0 or no such attribute: none) are its estimate of the teacher's state, which heads may judge; such a model
    has ``read_state(latents, proprio)``, ``(N, C, U, V)`` and ``(N, P)`` to ``(N, S)``.
    """

    frames_per_call: ClassVar[int]

    def condition(self, history: History, actions: Tensor) -> Any:
        """``actions``: ``(B, n, a, A)`` in [-1, 1]; returns what ``denoise`` needs."""

    def denoise(self, noisy: Tensor, noise_level: Tensor, context: Any) -> Denoised:
        """``noisy`` ``(B, n, C, U, V)`` = (1 - s) clean + s noise; ``noise_level`` s ``(B, n)`` in [0, 1]."""

    def loss(self, clip: Clip, generator: torch.Generator) -> tuple[Tensor, dict[str, Tensor]]:
        """Scalar training loss and named detached scalars for the log."""


class Codec(Protocol):
    """Frames to normalised latents (about unit variance) and back, per frame."""

    latent_channels: int
    downsample: int

    def encode(self, frames: Tensor) -> Tensor:
        """``(..., H, W, 3)`` uint8 to ``(..., C, U, V)`` float32."""

    def decode(self, latents: Tensor) -> Tensor:
        """``(..., C, U, V)`` to ``(..., H, W, 3)`` float32 in [0, 1] (not clipped, not rounded)."""


class Sampler(Protocol):
    """Noise levels and update rule; ``noise(k)`` gives the ``(B, n, C, U, V)`` noise of step k."""

    steps: int

    def sample(self, model: WorldModel, history: History, actions: Tensor, noise: Callable[[int], Tensor]) -> Denoised:
        """Generate n frames for ``actions`` ``(B, n, a, A)`` after ``history``."""

    def with_steps(self, steps: int) -> Sampler:
        """The same sampler with another number of steps, at least 1."""


@dataclass(frozen=True)
class Outcome(_Rows):
    """What the heads read from frames: numbers per frame."""

    reward: Tensor  # (N,) the environment's reward
    success: Tensor  # (N,) probability in [0, 1]
    values: Tensor  # (N, L) further quantities, named by the heads' ``labels``


class Heads(Protocol):
    """Reward and success from latents of (8-bit) frames and proprio, or from the model's state."""

    labels: tuple[str, ...]

    def outcome(
        self, latents: Tensor, proprio: Tensor, tasks: Tensor | None = None, state: Tensor | None = None
    ) -> Outcome:
        """``latents`` ``(N, C, U, V)``, ``proprio`` ``(N, P)`` in [-1, 1], ``tasks`` ``(N,)`` numbers in a suite.

        ``state`` ``(N, S)`` is the model's, where it has one.
        """


def to_uint8(frames: Tensor) -> Tensor:
    """Float frames in [0, 1] to 8 bits, the grid that history lives on."""
    return frames.float().mul(255).round().clamp(0, 255).to(torch.uint8)
