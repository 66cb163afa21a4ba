"""A world small enough for tests: real networks with a few hundred weights, no training, known answers.

Frames are 16 x 16. The pusher jumps onto its target, so the proprio of a frame is the action that led to it; the
heads read it: the reward is the x position over 100, success is x above 75. Pictures depend on history, actions and
noise.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from world_model.contract import Camera, Contract, Dimension, Normalizer
from world_model.diffusion import RenoiseConfig, RenoiseSampler
from world_model.interface import Clip, Denoised, History, Outcome
from world_model.pretrained import LearnedSimulator, Starts

SIZE = 16


def tiny_contract(actions_per_frame: int = 1) -> Contract:
    axes = tuple(Dimension(axis, "mm", 0.0, 100.0) for axis in "xy")
    low, high = (0.0, 0.0), (100.0, 100.0)
    return Contract(
        name="tiny",
        cameras=(Camera("top", SIZE, SIZE),),
        control_hz=10.0,
        actions_per_frame=actions_per_frame,
        actions=axes,
        proprio=axes,
        normalizer=Normalizer("bounds", low, high, low, high),
    )


class TinyCodec:
    """Space to depth: lossless on the 8-bit grid."""

    latent_channels = 48
    downsample = 4

    def encode(self, frames: Tensor) -> Tensor:
        pictures = frames.float().movedim(-1, -3) / 127.5 - 1
        flat = nn.functional.pixel_unshuffle(pictures.reshape(-1, *pictures.shape[-3:]), 4)
        return flat.reshape(*frames.shape[:-3], *flat.shape[1:])

    def decode(self, latents: Tensor) -> Tensor:
        flat = nn.functional.pixel_shuffle(latents.reshape(-1, *latents.shape[-3:]), 4)
        return (flat.reshape(*latents.shape[:-3], *flat.shape[1:]).movedim(-3, -1) + 1) / 2


class TinyModel(nn.Module):
    """Moves the last frame by a convolution of history, noise and action; the proprio becomes the last action."""

    frames_per_call: ClassVar[int] = 1

    def __init__(self, seed: int = 0) -> None:
        super().__init__()
        self.mix = nn.Conv2d(48 * 2 + 2, 48, 3, padding=1)
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for weight in self.parameters():
                weight.copy_(torch.randn(weight.shape, generator=generator) * 0.05)

    def condition(self, history: History, actions: Tensor) -> Any:
        mean = (history.latents * history.valid[:, :, None, None, None]).sum(1) / history.valid.sum(1)[
            :, None, None, None
        ]
        return history.latents[:, -1], mean, actions

    def denoise(self, noisy: Tensor, noise_level: Tensor, context: Any) -> Denoised:
        last, mean, actions = context
        frames = []
        for index in range(actions.shape[1]):
            planes = actions[:, index, -1, :, None, None].expand(-1, -1, *last.shape[-2:])
            step = self.mix(torch.cat([0.5 * last + 0.5 * mean, noisy[:, index], planes], 1))
            last = (0.9 * last + 0.5 * step).clamp(-1, 1)
            frames.append(last)
        return Denoised(torch.stack(frames, 1), actions[:, :, -1], actions[:, :, -1, 0].abs() - 3)

    def loss(self, clip: Clip, generator: torch.Generator) -> tuple[Tensor, dict[str, Tensor]]:
        estimate = self.denoise(
            clip.latents[:, 1:], clip.proprio[:, 1:, 0], self.condition(clip.history(0, 1), clip.actions)
        )
        error = (estimate.latents - clip.latents[:, 1:]).square().mean()
        return error, {"error": error.detach()}


class TinyChunkModel(TinyModel):
    """The same network, called for whole chunks."""

    frames_per_call: ClassVar[int] = 0


class TinyHeads(nn.Module):
    labels = ("brightness",)

    def outcome(
        self, latents: Tensor, proprio: Tensor, tasks: Tensor | None = None, state: Tensor | None = None
    ) -> Outcome:
        x = (proprio[:, 0] + 1) / 2
        return Outcome(reward=x, success=torch.sigmoid((x - 0.75) * 1000), values=latents.mean((1, 2, 3))[:, None])


def tiny_simulator(actions_per_frame: int = 1, seed: int = 0) -> LearnedSimulator:
    """The bundle, with three starts of known colours and places."""
    rng = np.random.default_rng(0)
    starts = Starts(
        names=("left", "middle", "right"),
        frames=rng.integers(0, 256, (3, SIZE, SIZE, 3), dtype=np.uint8),
        proprio=np.array([[10, 50], [50, 50], [70, 50]], np.float32),
    )
    return LearnedSimulator(
        model=TinyModel(seed).eval().requires_grad_(False),
        codec=TinyCodec(),
        contract=tiny_contract(actions_per_frame),
        sampler=RenoiseSampler(RenoiseConfig()),
        history=3,
        heads=TinyHeads(),
        starts=starts,
    )
