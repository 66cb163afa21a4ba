"""Convolutional next-frame denoiser (form d), and with ``state_dim`` its state-mediated form (form e).

An encoder looks once at the last frames, proprio and actions and foresees where things will be: the next proprio
and, in form e, the teacher's state (object poses, a training target only; nothing but frames and proprio is needed
at run time). A denoiser then draws the frame that fits this forecast, once per sampler step. Form e separates the
two jobs that blur each other in a small network, dynamics and drawing: the drawer is trained on the true next state,
so what it draws is sharp, and an error of the forecast moves the object instead of smearing it. The state is read
from frames once, where an episode begins, and then carried as the model's memory: read again from its own frames, it
would take their flaws for movement.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from world_model.diffusion.flow import NoiseConfig, add_noise, channel_error, draw_levels, draw_noise
from world_model.errors import InputError
from world_model.interface import Clip, Denoised, History
from world_model.models.forecast import (
    STEP_SCALE,
    Forecast,
    ForecastConfig,
    Foreseer,
    PointReader,
    forecast_loss,
    step_error,
)
from world_model.models.layers import (
    ConditionMap,
    FilmResBlock,
    PointMaps,
    SpatialAttention,
    TimestepEmbedding,
    fourier,
)
from world_model.models.step_condition import StepCondition, StepConditionConfig, last_frames


@dataclass(frozen=True)
class NextFrameConfig:
    """Sizes and loss weights; ``rollout`` is the share of batches trained on the model's own frames."""

    step: StepConditionConfig
    latent_channels: int = 16
    grid: tuple[int, int] = (16, 16)
    forecast: ForecastConfig = field(default_factory=ForecastConfig)
    proprio_points: tuple[int, ...] = ()
    """Proprio dimensions that are x, y, x, y, ... of points in the picture, each from -1 to 1 from edge to edge."""
    width: int = 64
    deep_width: int = 160
    deep_blocks: int = 2
    heads: int = 4
    condition_dim: int = 256
    prediction: str = "x0"
    noise: NoiseConfig = field(default_factory=NoiseConfig)
    rollout: float = 0.5
    forecast_weight: float = 0.1
    state_noise: float = 0.002
    forget: float = 0.1
    """Share of training samples (form e) in which the drawer sees the forecast but nothing of the history.

    It then cannot lean on smeared frames of its own, and draws from the state alone.
    """
    lost_at: float = 0.06
    """Own-rollout training puts a clip back on true frames when its state is this far off (0.06 is 15 px of 512)."""
    channel_weights: tuple[float, ...] = ()
    """Weight of each latent channel in the loss, e.g. the codec's squared scales."""


@dataclass(frozen=True)
class Context:
    """What the encoder found: its features at two scales, the condition vector and the forecast."""

    history: History
    features: Tensor  # (B, W, U, V)
    deep: Tensor  # (B, W', U/2, V/2)
    condition: Tensor  # (B, D)
    forecast: Forecast


class NextFrameNet(nn.Module):
    """``WorldModel`` that generates one frame a call; longer histories than ``config.step.history`` are cut."""

    frames_per_call: ClassVar[int] = 1

    def __init__(self, config: NextFrameConfig) -> None:
        super().__init__()
        self.config = config
        self.memory_dim = config.forecast.state_dim
        width, deep, dim, channels = config.width, config.deep_width, config.condition_dim, config.latent_channels
        self.step = StepCondition(config.step, dim)
        # encoder
        self.encode_map = ConditionMap(dim, width, width, config.grid)
        self.encode_in = nn.Conv2d(config.step.history * channels, width, 3, padding=1)
        self.encode_block = FilmResBlock(width, dim)
        self.encode_down = nn.Conv2d(width, deep, 2, stride=2)
        self.encode_deep = nn.ModuleList(FilmResBlock(deep, dim) for _ in range(config.deep_blocks))
        self.encode_attention = SpatialAttention(deep, config.heads)
        state_dim = config.forecast.state_dim
        self.reader = PointReader(config.forecast, width, deep, config.grid) if state_dim else None
        self.foreseer = Foreseer(config.forecast, dim, config.step.proprio_dim)
        # denoiser
        self.noise_level = TimestepEmbedding(dim)
        places = fourier(torch.zeros(1, config.step.proprio_dim + state_dim), config.step.octaves).shape[-1]
        self.draw_condition = nn.Sequential(nn.Linear(places + 2 * dim, dim), nn.SiLU(), nn.Linear(dim, dim), nn.SiLU())
        self.draw_map = ConditionMap(dim, width, width, config.grid)
        points = len(config.proprio_points) // 2 + state_dim // 2
        self.draw_points = PointMaps(points, width, config.grid) if points else None
        self.draw_in = nn.Conv2d(2 * channels + width, width, 3, padding=1)
        self.draw_block = FilmResBlock(width, dim)
        self.draw_down = nn.Conv2d(width, deep, 2, stride=2)
        self.draw_deep = nn.ModuleList(FilmResBlock(deep, dim) for _ in range(config.deep_blocks))
        self.draw_attention = SpatialAttention(deep, config.heads)
        self.draw_up = nn.Conv2d(deep, 4 * width, 1)
        self.draw_merge = FilmResBlock(width, dim)
        self.draw_out = nn.Conv2d(width, channels, 3, padding=1)
        self.error = nn.Linear(deep + dim, 1)

    def condition(self, history: History, actions: Tensor) -> Context:
        """See `WorldModel.condition`; ``actions`` ``(B, 1, a, A)``."""
        history = last_frames(history, self.config.step.history)
        condition = self.step(history, actions)
        x = self.encode_in(history.latents.flatten(1, 2)) + self.encode_map(condition)
        features = self.encode_block(x, condition)
        deep = self.encode_down(features)
        for block in self.encode_deep:
            deep = block(deep, condition)
        deep = self.encode_attention(deep)
        proprio = history.proprio[:, -1]
        now = proprio.new_zeros(len(proprio), 0) if self.reader is None else self.reader(features, deep)
        if history.memory is not None:
            now = torch.where(history.memory.isnan(), now, history.memory)
        forecast = Forecast(now, *self.foreseer(condition, proprio, now.detach()))
        return Context(history, features, deep, condition, forecast)

    def denoise(self, noisy: Tensor, noise_level: Tensor, context: Context) -> Denoised:
        """See `WorldModel.denoise`; n is 1."""
        return self.draw(noisy, noise_level, context, context.forecast.proprio, context.forecast.state)

    def draw(self, noisy: Tensor, noise_level: Tensor, context: Context, proprio: Tensor, state: Tensor) -> Denoised:
        """`denoise` with the next proprio ``(B, P)`` and state ``(B, S)`` given."""
        z, last = noisy[:, 0], context.history.latents[:, -1]
        places = fourier(torch.cat([proprio, state], dim=-1), self.config.step.octaves)
        level = self.noise_level(noise_level[:, 0])
        condition = self.draw_condition(torch.cat([places, level, context.condition], dim=-1))
        drawn = self.draw_map(condition)
        if self.draw_points is not None:
            chosen = list(self.config.proprio_points)
            drawn = drawn + self.draw_points(torch.cat([proprio[:, chosen], state], dim=-1))
        x = self.draw_in(torch.cat([z, last, drawn], dim=1)) + context.features
        x = skip = self.draw_block(x, condition)
        x = self.draw_down(x) + context.deep
        for block in self.draw_deep:
            x = block(x, condition)
        x = self.draw_attention(x)
        log_error = self.error(torch.cat([x.mean(dim=(2, 3)), condition], dim=-1).detach())  # (B, 1)
        x = F.pixel_shuffle(self.draw_up(x), 2) + skip
        out = self.draw_out(F.silu(self.draw_merge(x, condition))).float()
        clean = z - noise_level[:, :, None, None] * out if self.config.prediction == "v" else last + out
        return Denoised(clean[:, None], proprio[:, None], log_error, state[:, None].float())

    def loss(self, clip: Clip, generator: torch.Generator) -> tuple[Tensor, dict[str, Tensor]]:
        """Every frame after the history, from true frames or (share ``rollout``) from the model's own."""
        count = self.config.step.history
        own = torch.rand((), generator=generator, device=generator.device) < self.config.rollout
        steps = clip.latents.shape[1] - count
        if own:
            return self._own_rollout_loss(clip, steps, generator)
        windows = [_step_inputs(clip, clip.history(k, k + count), k + count) for k in range(steps)]
        return self._step_loss(_concatenate(windows), generator)[:2]

    def sequence_loss(self, clip: Clip, generator: torch.Generator) -> tuple[Tensor, dict[str, Tensor]]:
        """Long unrolled forecasts from a true (slightly noised) state; ``clip.latents`` is not looked at.

        Raises:
            InputError: the clip has no teacher state or this model none to foresee.
        """
        if clip.state is None or not self.config.forecast.state_dim:
            raise InputError("sequence_loss needs a teacher state in the data and state_dim in the model; give both")
        count = self.config.step.history
        now = clip.state[:, count - 1]
        now = now + self.config.state_noise * draw_noise(now, generator)
        proprio = clip.proprio[:, :count]
        errors = []
        for k in range(count, clip.proprio.shape[1]):
            history = History(clip.latents, proprio, clip.actions[:, k - count : k - 1], clip.valid[:, k - count : k])
            condition = self.step(history, clip.actions[:, k - 1 : k])
            following, now = self.foreseer(condition, proprio[:, -1], now)
            if now.requires_grad:
                following, now = (_limit_gradient(x, clip.proprio.shape[1] - count) for x in (following, now))
            proprio = torch.cat([proprio[:, 1:], following[:, None]], dim=1)
            errors.append(step_error(following, clip.proprio[:, k]) + step_error(now, clip.state[:, k]))
        logs = {"sequence_first": errors[0].detach(), "sequence_last": errors[-1].detach()}
        return torch.stack(errors).mean(), logs

    def _own_rollout_loss(self, clip: Clip, steps: int, generator: torch.Generator) -> tuple[Tensor, dict[str, Tensor]]:
        """Each frame from frames that the model made; a clip that has strayed is put back on the truth."""
        count = self.config.step.history
        history = clip.history(0, count)
        drift = None if clip.state is None else torch.zeros_like(clip.state[:, 0])
        total = torch.zeros((), device=clip.latents.device)
        logs: dict[str, Tensor] = {}
        for k in range(steps):
            step = _step_inputs(clip, history, k + count, drift)
            loss, logs, context = self._step_loss(step, generator)
            total = total + loss / steps
            if k + 1 == steps:
                break
            with torch.no_grad():
                noise = draw_noise(step.target[:, None], generator)
                made = self.denoise(noise, torch.ones_like(step.history.proprio[:, -1:, 0]), context)
            true = clip.history(k + 1, k + 1 + count)
            history = History(
                torch.cat([history.latents[:, 1:], made.latents.to(history.latents.dtype)], dim=1),
                torch.cat([history.proprio[:, 1:], made.proprio.float()], dim=1),
                true.actions,
                true.valid,
                made.memory[:, 0] if made.memory is not None else None,
            )
            if self.config.forecast.state_dim and clip.state is not None:
                drift = context.forecast.state.detach().float() - clip.state[:, k + count]
                lost = drift.abs().amax(dim=1) > self.config.lost_at
                drift = torch.where(lost[:, None], 0, drift)
                history = _put_back(history, true, lost)
        return total, {f"own_{k}": v for k, v in logs.items()}

    def _step_loss(self, step: Step, generator: torch.Generator) -> tuple[Tensor, dict[str, Tensor], Context]:
        context = self.condition(step.history, step.action)
        levels = draw_levels((len(step.target), 1), self.config.noise, generator, step.target.device)
        noisy = add_noise(step.target[:, None], draw_noise(step.target[:, None], generator), levels)
        proprio, state = step.next_proprio, context.forecast.state
        seen = context
        if self.config.forecast.state_dim and step.true_state is not None:
            seen = _forget(context, self.config.forget, generator)
            state = step.true_state + self.config.state_noise * draw_noise(step.true_state, generator)
        else:
            proprio = context.forecast.proprio
        made = self.draw(noisy, levels, seen, proprio, state)
        squared = channel_error(made.latents[:, 0], step.target, self.config.channel_weights)  # (B,)
        forecast, logs = forecast_loss(context.forecast, step)
        error = (made.log_error[:, 0].float() - squared.detach().clamp_min(1e-8).log()).square().mean()
        loss = squared.mean() * 10 + self.config.forecast_weight * forecast + 0.01 * error
        logs = {"latent": squared.mean().detach(), "log_error": error.detach(), **logs}
        return loss, logs, context


@dataclass(frozen=True)
class Step:
    """One prediction to be learned."""

    history: History
    action: Tensor  # (B, 1, a, A)
    target: Tensor  # (B, C, U, V)
    next_proprio: Tensor  # (B, P)
    true_state: Tensor | None  # (B, S) of the target frame
    now_state: Tensor | None  # (B, S) that the last history frame shows
    next_state: Tensor | None  # (B, S) that should follow from what it shows


def _step_inputs(clip: Clip, history: History, k: int, drift: Tensor | None = None) -> Step:
    """Predict frame ``k``; ``drift`` is how far the shown state has left the true one."""
    now = following = true = None
    if clip.state is not None:
        true = clip.state[:, k]
        now, following = clip.state[:, k - 1], true
        if drift is not None:
            now, following = now + drift, following + drift
    return Step(history, clip.actions[:, k - 1 : k], clip.latents[:, k], clip.proprio[:, k], true, now, following)


def _forget(context: Context, share: float, generator: torch.Generator) -> Context:
    """``context`` without its pictures in a random ``share`` of rows."""
    rows = len(context.condition)
    keep = torch.rand((rows, 1, 1, 1), generator=generator, device=generator.device) >= share
    keep = keep.to(context.features)
    history = replace(context.history, latents=context.history.latents * keep[:, None])
    return replace(context, history=history, features=context.features * keep, deep=context.deep * keep)


def _limit_gradient(x: Tensor, steps: int) -> Tensor:
    """Keep what flows back from later steps of an unrolled forecast within a few times the step's own share.

    Contacts make the chain of Jacobians explode; one step's smooth L1 has gradients of at most ``own``.
    """
    own = 1 / (STEP_SCALE * x.numel() * steps)
    x = x.clone()
    x.register_hook(lambda g: g.clamp(-3 * own, 3 * own))  # type: ignore[no-untyped-call]
    return x


def _put_back(history: History, true: History, lost: Tensor) -> History:
    """``history`` with the rows of ``true``, to be read anew, where ``lost`` ``(B,)``."""

    def choose(own: Tensor, truth: Tensor) -> Tensor:
        return torch.where(lost.reshape(-1, *(1,) * (own.ndim - 1)), truth.to(own.dtype), own)

    memory = None if history.memory is None else torch.where(lost[:, None], torch.nan, history.memory)
    return History(
        choose(history.latents, true.latents),
        choose(history.proprio, true.proprio),
        true.actions,
        true.valid,
        memory,
    )


def _concatenate(steps: list[Step]) -> Step:
    def join(parts: list[Tensor | None]) -> Tensor | None:
        present = [p for p in parts if p is not None]
        return torch.cat(present) if present else None

    histories = [s.history for s in steps]
    return Step(
        History(*(torch.cat([getattr(h, n) for h in histories]) for n in ("latents", "proprio", "actions", "valid"))),
        torch.cat([s.action for s in steps]),
        torch.cat([s.target for s in steps]),
        torch.cat([s.next_proprio for s in steps]),
        join([s.true_state for s in steps]),
        join([s.now_state for s in steps]),
        join([s.next_state for s in steps]),
    )
