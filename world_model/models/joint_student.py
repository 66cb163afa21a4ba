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

from world_model.diffusion.flow import add_noise, draw_levels, draw_noise, shift_levels
from world_model.diffusion.samplers import EulerConfig, EulerSampler
from world_model.errors import InputError
from world_model.interface import Clip, Denoised, History
from world_model.models.forecast import step_error
from world_model.models.lesson import Backbone, Lesson, Places
from world_model.rules import Number, Whole, settle
from world_model.simforcing.condition import ConditionConfig, SimCondition, corrupt, draw_gate
from world_model.simforcing.motion import Estimates, PairLossConfig, pair_loss
from world_model.simforcing.pairs import PairClip, mixed

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
    misread: float = 0.0
    """Most deviation of errors in what a model is told of where things stand, in the clips that are told of the
    simulator, so that these learn to believe it (the specification's drift); for models that are told so."""
    channel_weights: tuple[float, ...] = ()
    """As of the video model, whose own these replace."""
    video: Any = None

    def __post_init__(self) -> None:
        settle(self, {"own": Number(0, 1), "own_steps": Whole(1, 1000), "misread": Number(0, 10)})
        objective = getattr(self.video, "objective", FLOWS[0])
        if objective not in FLOWS:
            raise InputError(
                f"video.objective is {objective!r} but pairs are learned by flow matching; use one of "
                f"{', '.join(FLOWS)}"
            )


class _Kept(tuple[Any, ...]):
    """Copies of a student, such as its moving average, share its teacher."""

    def __deepcopy__(self, memo: dict[int, Any]) -> _Kept:
        return self


@dataclass(frozen=True)
class Told:
    """A video model's context, and the simulator's latents of known and new frames where they are to be seen."""

    context: Any
    sim: Tensor | None = None  # (B, h + n, C, U, V)
    gate: Tensor | None = None  # (B,)


class JointStudent(nn.Module):
    """`WorldModel` of real and simulated frames alike: the first frame says which of the two goes on.

    Trained on single clips (stage 1, the simulator's) it is its video model; on pairs (stage 2) by `pair_loss`.
    """

    frames_per_call: ClassVar[int] = 0

    def __init__(self, config: StudentConfig, build: Callable[[Any], Any]) -> None:
        super().__init__()
        self.config: Any = config
        v: Any = config.video
        v = replace(v, channel_weights=config.channel_weights) if config.channel_weights else v
        self.video: Any = build(v)  # a `Backbone`
        self.told = SimCondition(config.condition, v.latent_channels, self.video.injected)
        self.chunk = self.video.chunk
        self.stride = int(getattr(v, "stride", 1))  # frames of a latent frame
        self.memory_dim = int(getattr(self.video, "memory_dim", 0))
        self.state_dim = int(getattr(self.video, "state_dim", 0))
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
        count = told.context.known + actions.shape[1] // self.stride
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

    def read_state(self, latents: Tensor, proprio: Tensor) -> Tensor:
        """See `WorldModel`."""
        read: Tensor = self.video.read_state(latents, proprio)
        return read

    def loss(self, clip: Clip | PairClip, generator: torch.Generator) -> tuple[Tensor, dict[str, Tensor]]:
        """Of single clips, the video model's own; of pairs, `pair_loss` and what each side teaches aside."""
        video: Backbone = self.video
        if isinstance(clip, Clip):
            return video.loss(clip, generator)
        places = video.draw_places(clip.real, generator)
        gate = draw_gate(len(places), self.config.condition.present, generator, clip.real.latents.device)
        degree = torch.rand(len(places), generator=generator, device=generator.device).to(gate)
        real = video.lesson(clip.real, places, generator, self.config.misread * degree * gate)
        sim = video.lesson(clip.sim, places, generator)
        noise = draw_noise(real.target, generator)
        level = self._levels(len(places), generator).to(noise.device)
        true = self._simulated(clip.sim, places, sim, generator)
        seen = corrupt(true, self.config.condition, generator).detach()

        def restore(lesson: Lesson, model: Any, context: Any) -> tuple[Tensor, Denoised]:
            levels = level[:, None].expand(noise.shape[:2])
            made = model.denoise(add_noise(lesson.target, noise, levels), levels, context)
            return torch.cat([lesson.before.float(), made.latents], dim=1), made

        made_real, whole_real = restore(real, self, Told(real.context, seen, gate))
        made_sim, whole_sim = restore(sim, self, Told(sim.context))
        teacher = None
        if self._teacher and self.config.loss.motion * self.config.loss.pictures:
            net = self._teacher[0].to(noise.device)
            with torch.no_grad():
                lesson = net.lesson(clip.sim, places)
                teacher, _ = restore(lesson, net, lesson.context)
        found = Estimates(made_real, made_sim, _truth(real), _truth(sim))
        loss, logs = pair_loss(found, teacher, level, self.config.loss, self.video.config.channel_weights)
        for domain, lesson, made in (("real", real, whole_real), ("sim", sim, whole_sim)):
            more, parts = video.also(lesson, made)
            loss = loss + self.config.loss.shares[domain] * more
            logs |= {f"{name}_{domain}": value for name, value in parts.items()}
        return loss, logs

    def sequence_loss(self, clip: Clip | PairClip, generator: torch.Generator) -> tuple[Tensor, dict[str, Tensor]]:
        """What is foreseen of long frameless clips, for video models that foresee; of pairs, also as the teacher does.

        Each sequence is of one domain, drawn by their weights, which costs half as much as both. The teacher's motion
        is that of all numbers that it foresees, from frame to frame.
        """
        if isinstance(clip, Clip):
            found: tuple[Tensor, dict[str, Tensor]] = self.video.sequence_loss(clip, generator)
            return found
        config: PairLossConfig = self.config.loss
        total = sum(config.shares.values())
        side = mixed(clip, config.shares["real"] / max(total, 1e-9), generator)
        loss, logs = self.video.sequence_loss(side, generator)
        if self._teacher and config.motion * config.foreseen:
            asked = self.video.asked(clip.sim, config.perturbed, generator)
            with torch.no_grad():
                wanted = self._teacher[0].to(loss.device).foreseen_motion(clip.sim, asked)
            moved = step_error(self.video.foreseen_motion(side, asked), wanted)
            loss = loss + config.motion * config.foreseen * moved
            logs = {**logs, "foreseen": moved.detach()}
        return total * loss, logs

    def _levels(self, count: int, generator: torch.Generator) -> Tensor:
        """One of each lesson, for both sides and all of its new frames."""
        if self.config.loss.weighting == "clean":
            return draw_levels((count,), self.video.config.noise, generator, generator.device)
        drawn = torch.rand(count, generator=generator, device=generator.device)
        return shift_levels(drawn, self.config.loss.shift).clamp_min(1e-3)

    @torch.no_grad()
    def _simulated(self, side: Clip, places: Places, lesson: Lesson, generator: torch.Generator) -> Tensor:
        """The simulator's latents of each lesson's frames: true ones, or for a share the student's own."""
        true = _truth(lesson)
        own = torch.rand(len(places), generator=generator, device=generator.device) < self.config.own
        if not own.any():
            return true
        lessons = own.nonzero()[:, 0].to(true.device)
        some = places.select(lessons)
        lesson = self.video.lesson(side, some)
        sampler = EulerSampler(EulerConfig(self.config.own_steps, self.config.loss.shift))
        z = draw_noise(lesson.target, generator)
        made = sampler.integrate(self.video, self.video.as_used(side, some, lesson), z)
        return true.index_copy(0, lessons, torch.cat([lesson.before, made.latents.to(true.dtype)], dim=1))


def _truth(lesson: Lesson) -> Tensor:
    """``(R, k + n, C, U, V)``"""
    return torch.cat([lesson.before, lesson.target], dim=1).float()
