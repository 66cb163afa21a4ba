"""The joint student of any video model: both domains in one network, told of the simulator's latents in the real one.

Distilled motion (specification 3.2), conditioning and guidance (3.3) are here once for all backbones.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from world_model.diffusion.flow import add_noise, draw_noise, shift_levels
from world_model.diffusion.samplers import EulerConfig, EulerSampler
from world_model.errors import InputError
from world_model.interface import Clip, Denoised, History
from world_model.models.video_diffusion import Context, VideoDiffusion
from world_model.rules import Number, Whole, settle
from world_model.simforcing.condition import ConditionConfig, SimCondition, corrupt, draw_gate
from world_model.simforcing.motion import Estimates, PairLossConfig, pair_loss
from world_model.simforcing.pairs import PairClip

FLOWS = ("flow", "bell")
"""Objectives of which pairs can be learned."""


@dataclass(frozen=True)
class StudentConfig:
    """What the student is told, and how it is trained; ``video`` is the configuration of its video model."""

    condition: ConditionConfig = field(default_factory=ConditionConfig)
    loss: PairLossConfig = field(default_factory=PairLossConfig)
    own: float = 0.0
    """Share of training clips told of the student's own simulated frames instead of the true ones, as at run time."""
    own_steps: int = 2
    """Euler steps of these."""
    channel_weights: tuple[float, ...] = ()
    """As of the video model, whose own these replace."""
    video: Any = None

    def __post_init__(self) -> None:
        settle(self, {"own": Number(0, 1), "own_steps": Whole(1, 1000)})
        if self.video.objective not in FLOWS:
            raise InputError(
                f"video.objective is {self.video.objective!r} but pairs are learned by flow matching; use one of "
                f"{', '.join(FLOWS)}"
            )


class _Kept(tuple[VideoDiffusion, ...]):
    """Copies of a student, such as its moving average, share its teacher."""

    def __deepcopy__(self, memo: dict[int, Any]) -> _Kept:
        return self


@dataclass(frozen=True)
class Told:
    """A video model's context, and the simulator's latents of known and new frames where they are to be seen."""

    context: Context
    sim: Tensor | None = None  # (B, h + n, C, U, V)
    gate: Tensor | None = None  # (B,)


class JointStudent(nn.Module):
    """`WorldModel` of real and simulated frames alike: the first frame says which of the two goes on.

    Trained on single clips (stage 1, the simulator's) it is its video model; on pairs (stage 2) by `pair_loss`.
    """

    frames_per_call: ClassVar[int] = 0

    def __init__(self, config: StudentConfig, build: Callable[[Any], VideoDiffusion]) -> None:
        super().__init__()
        self.config: Any = config
        v: Any = config.video
        v = replace(v, channel_weights=config.channel_weights) if config.channel_weights else v
        self.video = build(v)
        self.told = SimCondition(config.condition, v.depth, v.latent_channels, v.patch, v.dim)
        self.chunk = self.video.chunk
        self.stride = int(getattr(v, "stride", 1))  # frames of a latent frame
        self._teacher = _Kept()  # a tuple hides it from parameters, optimiser and checkpoints

    def freeze_teacher(self) -> None:
        """Keep a frozen copy of the video model as it is now, for the motion terms."""
        self._teacher = _Kept([copy.deepcopy(self.video).eval().requires_grad_(False)])

    def condition(self, history: History, actions: Tensor) -> Told:
        """See `WorldModel.condition`: no simulator is seen."""
        return Told(self.video.condition(history, actions))

    def condition_on(self, history: History, actions: Tensor, sim: Tensor) -> Told:
        """As `condition`, told of the simulator's latents ``sim`` ``(B, h + n, C, U, V)`` of known and new frames."""
        told = self.condition(history, actions)
        count = told.context.history.latents.shape[1] + actions.shape[1] // self.stride
        if sim.shape[1] < count:
            raise InputError(f"the simulator's latents are of {sim.shape[1]} frames but {count} are known or generated")
        return Told(told.context, sim[:, -count:], torch.ones_like(sim[:, 0, 0, 0, 0]))

    def denoise(self, noisy: Tensor, noise_level: Tensor, context: Told) -> Denoised:
        """See `WorldModel.denoise`."""
        added = None
        if context.sim is not None and context.gate is not None:
            sim, gate = context.sim, context.gate

            def added(block: int) -> Tensor | None:
                return self.told(block, sim, gate)

        return self.video.denoise(noisy, noise_level, context.context, added=added)

    def loss(self, clip: Clip | PairClip, generator: torch.Generator) -> tuple[Tensor, dict[str, Tensor]]:
        """Of single clips, the video model's own; of pairs, `pair_loss`."""
        if isinstance(clip, Clip):
            return self.video.loss(clip, generator)
        known, device = self.config.video.history, clip.real.latents.device
        count = clip.real.latents.shape[1] - known
        level = shift_levels(
            torch.rand(len(clip), generator=generator, device=generator.device), self.config.loss.shift
        )
        level = level.clamp_min(1e-3).to(device)
        levels = level[:, None].expand(-1, count)
        noise = draw_noise(clip.real.latents[:, known:], generator)
        gate = draw_gate(len(clip), self.config.condition.present, generator, device)
        seen = corrupt(self._simulated(clip, generator), self.config.condition, generator).detach()

        def estimate(side: Clip, sim: Tensor | None, model: Any) -> Tensor:
            noisy = add_noise(side.latents[:, known:], noise, levels)
            context = Told(self._context(side), sim, gate if sim is not None else None)
            made = model(noisy, levels, context)
            return torch.cat([side.latents[:, :known].float(), made.latents], dim=1)

        real = estimate(clip.real, seen, self.denoise)
        simulated = estimate(clip.sim, None, self.denoise)
        teacher = None
        if self._teacher and self.config.loss.motion:
            net = self._teacher[0].to(device)
            with torch.no_grad():
                teacher = estimate(clip.sim, None, lambda z, s, told: net.denoise(z, s, told.context))
        found = Estimates(real, simulated, clip.real.latents.float(), clip.sim.latents.float())
        return pair_loss(found, teacher, level, self.config.loss)

    def _context(self, side: Clip) -> Context:
        known = self.config.video.history
        return self.video.condition(side.history(0, known), side.actions[:, known - 1 :])

    @torch.no_grad()
    def _simulated(self, clip: PairClip, generator: torch.Generator) -> Tensor:
        """The simulator's latents ``(B, T, ...)`` of each clip: true ones, or for a share the student's own."""
        true = clip.sim.latents
        own = torch.rand(len(clip), generator=generator, device=generator.device) < self.config.own
        if not own.any():
            return true
        known = self.config.video.history
        rows = own.nonzero()[:, 0].to(true.device)
        side = clip.sim.map(lambda t: t[rows])
        z = draw_noise(side.latents[:, known:], generator)
        sampler = EulerSampler(EulerConfig(self.config.own_steps, self.config.loss.shift))
        made = sampler.sample(self, side.history(0, known), side.actions[:, known - 1 :], lambda step: z)
        made_latents = torch.cat([side.latents[:, :known], made.latents.to(true.dtype)], dim=1)
        return true.index_copy(0, rows, made_latents)
