"""What published video diffusion models have in common: clean known frames in front, the chunk denoised together.

Known frames stay clean in the network's input but carry the noise level of the others; the loss is on the new frames
alone; now and then a clip's actions are withheld, so that the model can be guided by them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, NamedTuple

import torch
from torch import Tensor, nn

from world_model.diffusion.flow import NoiseConfig, add_noise, channel_error, draw_noise
from world_model.diffusion.objectives import OBJECTIVES
from world_model.errors import InputError
from world_model.interface import Clip, Denoised, History
from world_model.models.forecast import STEP_SCALE
from world_model.models.layers import fourier, zero_linear
from world_model.models.lesson import Lesson, Places
from world_model.rules import FLAG, Choice, Number, Rule, Whole, settle

_SIZE = Whole(1, 65_536)
RULES: dict[str, Rule] = {
    **dict.fromkeys(("action_dim", "actions_per_frame", "latent_channels"), _SIZE),
    "proprio_dim": Whole(0, 65_536),
    "action_octaves": Whole(0, 16),
    "frames": Whole(2, 4096),
    "history": Whole(1, 256),
    "dropout": Number(0, 1),
    "limit": Number(0, 1e6),
    "objective": Choice(tuple(OBJECTIVES)),
    "known_clean": FLAG,
    "anchored": FLAG,
}


@dataclass(frozen=True)
class VideoConfig:
    """What every model of this kind is told; the defaults are those of the published RT-1 and Bridge models."""

    action_dim: int = 7
    actions_per_frame: int = 1
    action_octaves: int = 0
    """Waves of each action number, from a period of 2 down by halves, that are embedded beside it; 0 as published.
    Places are followed much sooner with them."""
    proprio_dim: int = 0
    """Proprio numbers that the model foresees, with its own error; 0 leaves both out, as published."""
    latent_channels: int = 4
    frames: int = 16
    """Frames of a clip, known ones included; an embedding of all its actions is made for this many."""
    history: int = 1
    """Known frames in training, and the most that are used."""
    dropout: float = 0.1
    """Share of clips trained without their actions."""
    objective: Literal["ddpm", "flow", "clean", "bell"] = "ddpm"
    anchored: bool = False
    """With the objective "clean": the network tells what has changed since the last known frame, so that it begins
    with copying."""
    noise: NoiseConfig = field(default_factory=lambda: NoiseConfig(pure=0.0))
    """Levels of flow matching."""
    known_clean: bool = False
    """Known frames have time 0 (Wan, SimForcing) instead of the new ones' (IRASim)."""
    limit: float = 0.0
    """Largest size of a clean latent that is believed, which keeps a model that is not trained long from running away;
    0 for none, as published."""
    channel_weights: tuple[float, ...] = ()
    """Weight of each latent channel in the expected error, e.g. the codec's squared scales, and in the loss where the
    objective lets channels count unequally."""

    def __post_init__(self) -> None:
        settle(self, RULES)
        if self.anchored and self.objective != "clean":
            raise InputError(
                f"anchored is on with the objective {self.objective!r} but only clean latents can be told by their "
                'change; use "clean"'
            )
        if self.history >= self.frames:
            raise InputError(f"history is {self.history} of {self.frames} frames, which leaves none to generate")

    @property
    def action_inputs(self) -> int:
        """Numbers that are embedded of a frame's actions."""
        return self.actions_per_frame * self.action_dim * (1 + 2 * self.action_octaves)


class Answer(NamedTuple):
    """What a network says about F frames."""

    latents: Tensor  # (B, F, C, U, V) noise, velocity or clean latents
    features: Tensor  # (B, F, D) for proprio and error


@dataclass(frozen=True)
class Context:
    """What does not depend on the noisy frames."""

    history: History
    told: Any  # of `VideoDiffusion.embed`

    @property
    def known(self) -> int:
        """Frames in front of the new ones."""
        return self.history.latents.shape[1]


class VideoDiffusion(nn.Module, ABC):
    """`WorldModel` over a network that answers for known and new frames together."""

    frames_per_call: ClassVar[int] = 0

    def __init__(self, config: VideoConfig, features: int) -> None:
        super().__init__()
        self.config: Any = config
        self.objective = OBJECTIVES[config.objective](config.noise)
        self.chunk = config.frames - config.history
        self.proprio = zero_linear(features, config.proprio_dim) if config.proprio_dim else None
        self.error = nn.Linear(features, 1) if config.proprio_dim else None

    @abstractmethod
    def embed(self, actions: Tensor, real: Tensor, withheld: Tensor) -> Any:
        """What the network is told of the actions.

        Args:
            actions: ``(B, F - 1, VideoConfig.action_inputs)`` that lead to frames 1 to F - 1.
            real: ``(B, F - 1)``, False where an action of the padding stands.
            withheld: ``(B,)`` clips whose actions are not told.
        """

    @abstractmethod
    def answer(self, frames: Tensor, times: Tensor, told: Any) -> Answer:
        """``frames`` ``(B, F, C, U, V)`` with their ``times`` ``(B, F)`` in [0, 1000)."""

    def condition(self, history: History, actions: Tensor) -> Context:
        """See `WorldModel.condition`."""
        return self._context(history, actions, torch.zeros_like(history.valid[:, 0]))

    def unconditioned(self, history: History, actions: Tensor) -> Context:
        """As `condition`, but the actions are not told, only how many frames there are."""
        return self._context(history, actions, torch.ones_like(history.valid[:, 0]))

    def denoise(self, noisy: Tensor, noise_level: Tensor, context: Context, **further: Any) -> Denoised:
        """See `WorldModel.denoise`; known frames have the noise level of the first new one, or none."""
        answer = self.of_new(noisy, noise_level, context, **further)
        latents = self._clean(answer, noisy, noise_level)
        return Denoised(latents, *self._read(answer.features, context.history))

    def loss(self, clip: Clip, generator: torch.Generator) -> tuple[Tensor, dict[str, Tensor]]:
        """Mean squared error of the network's answer for the new frames; proprio and error where they are foreseen."""
        first, device = self.config.history, clip.latents.device
        target, wanted = clip.latents[:, first:], clip.proprio[:, first:]
        batch, count = target.shape[:2]
        levels = self.objective.draw((batch, 1), generator, device).expand(batch, count)
        noise = draw_noise(target, generator)
        noisy = add_noise(target, noise, levels)
        withheld = torch.rand(batch, generator=generator, device=generator.device) < self.config.dropout
        context = self._context(clip.history(0, first), clip.actions[:, first - 1 :], withheld.to(device))
        answer = self.of_new(noisy, levels, context)
        weights = self.config.channel_weights if self.objective.weighted else ()
        wrong = channel_error(answer.latents, self.objective.target(target, noise), weights)
        wrong = wrong * self.objective.counts(levels)
        loss, logs = wrong.mean(), {"answer": wrong.mean().detach()}
        if self.proprio is not None:
            made = Denoised(self._clean(answer, noisy, levels), *self._read(answer.features, context.history))
            more, read = self.also(Lesson(context, context.history.latents, target, wanted), made)
            loss, logs = loss + more, logs | read
        return loss, logs

    @property
    def injected(self) -> tuple[tuple[int, int], ...]:
        """See `Backbone.injected`."""
        return ((self.config.dim, self.config.patch),) * self.config.depth

    def draw_places(self, clip: Clip, generator: torch.Generator) -> Places:
        """See `Backbone.draw_places`: each window once, its first frames known and all others new."""
        return Places(torch.arange(len(clip.latents), device=clip.latents.device))

    def lesson(
        self, side: Clip, places: Places, generator: torch.Generator | None = None, misread: Tensor | None = None
    ) -> Lesson:
        """See `Backbone.lesson`; this kind of model is not told where things stand."""
        known, some = self.config.history, side.map(lambda t: t[places.rows])
        context = self.condition(some.history(0, known), some.actions[:, known - 1 :])
        return Lesson(context, some.latents[:, :known], some.latents[:, known:], some.proprio[:, known:])

    def as_used(self, side: Clip, places: Places, lesson: Lesson) -> Context:
        """See `Backbone.as_used`."""
        context: Context = lesson.context
        return context

    def also(self, lesson: Lesson, made: Denoised) -> tuple[Tensor, dict[str, Tensor]]:
        """See `Backbone.also`: proprio and the expected error, where they are foreseen."""
        if self.proprio is None:
            return lesson.target.new_zeros((), dtype=torch.float32), {}
        squared = channel_error(made.latents.detach(), lesson.target, self.config.channel_weights)
        moved = ((made.proprio - lesson.proprio) / STEP_SCALE).abs().clamp(max=25).mean()
        error = (made.log_error - squared.clamp_min(1e-8).log()).square().mean()
        return 0.005 * moved + 0.001 * error, {"proprio": moved.detach(), "log_error": error.detach()}

    def _context(self, history: History, actions: Tensor, withheld: Tensor) -> Context:
        keep = self.config.history
        h = min(history.latents.shape[1], keep)
        between = history.actions[:, history.actions.shape[1] - (h - 1) :]
        history = History(history.latents[:, -h:], history.proprio[:, -h:], between, history.valid[:, -h:])
        every = fourier(torch.cat([between, actions], dim=1).flatten(2), self.config.action_octaves)
        new = torch.ones_like(actions[:, 1:, 0, 0], dtype=torch.bool)
        return Context(history, self.embed(every, torch.cat([history.valid, new], dim=1), withheld))

    def of_new(self, noisy: Tensor, levels: Tensor, context: Context, **further: Any) -> Answer:
        """The network's answer for the new frames; ``further`` are arguments of `answer`."""
        known = context.history.latents
        seen, times = self.objective.enter(noisy, levels)
        frames = torch.cat([known, seen.to(known.dtype)], dim=1)
        first = times[:, :1] * (not self.config.known_clean)
        times = torch.cat([first.expand(-1, known.shape[1]), times], dim=1)
        answer = self.answer(frames, times, context.told, **further)
        new = answer.latents[:, known.shape[1] :].float()
        new = new + known[:, -1:].float() if self.config.anchored else new
        return Answer(new, answer.features[:, known.shape[1] :])

    def _clean(self, answer: Answer, noisy: Tensor, levels: Tensor) -> Tensor:
        clean = self.objective.clean(answer.latents, noisy, levels)
        return clean.clamp(-self.config.limit, self.config.limit) if self.config.limit else clean

    def _read(self, features: Tensor, history: History) -> tuple[Tensor, Tensor]:
        """Proprio ``(B, n, P)`` and log error ``(B, n)``; without a readout the last proprio, and 0 for not known."""
        last = history.proprio[:, -1:].expand(-1, features.shape[1], -1)
        if self.proprio is None or self.error is None:
            return last, torch.zeros_like(features[..., 0], dtype=torch.float32)
        return last + STEP_SCALE * self.proprio(features).float(), self.error(features.detach())[..., 0].float()


def whole_trajectory(actions: Tensor, real: Tensor, count: int) -> Tensor:
    """``(B, F - 1, A)`` to exactly ``count`` actions ``(B, count, A)``: padding's are 0, the last one is repeated.

    Raises:
        InputError: there are more than ``count``.
    """
    have = actions.shape[1]
    if have > count:
        raise InputError(
            f"{have + 1} frames were asked for at once but this model's embedding is of {count} actions; generate at "
            f"most {count + 1} frames, the known ones included"
        )
    actions = actions * real[..., None]
    return torch.cat([actions, actions[:, -1:].expand(-1, count - have, -1)], dim=1)
