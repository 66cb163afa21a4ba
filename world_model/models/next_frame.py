"""Form d: a convolutional denoiser of the next frame, from the last frames, proprio and actions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import torch
from torch import Tensor, nn

from world_model.diffusion.flow import NoiseConfig, add_noise, channel_error, draw_levels, draw_noise
from world_model.interface import Clip, Denoised, History
from world_model.models.forecast import ForecastConfig, Foreseer, step_error
from world_model.models.layers import ConditionMap, PointMaps, TimestepEmbedding
from world_model.models.step_condition import StepCondition, StepConditionConfig, last_frames
from world_model.models.unet import DRAWING, Drawer, Encoder, UNetConfig
from world_model.rules import Number, settle


@dataclass(frozen=True)
class NextFrameConfig:
    """Sizes and loss weights; ``rollout`` is the share of batches trained on the model's own frames."""

    step: StepConditionConfig
    proprio_points: tuple[int, ...] = ()
    """Proprio dimensions that are x, y, x, y, ... of points in the picture, each from -1 to 1 from edge to edge."""
    latent_channels: int = 16
    grid: tuple[int, int] = (16, 16)
    unet: UNetConfig = field(default_factory=UNetConfig)
    condition_dim: int = 256
    prediction: str = "x0"
    noise: NoiseConfig = field(default_factory=NoiseConfig)
    rollout: float = 0.5
    proprio_weight: float = 0.1
    channel_weights: tuple[float, ...] = ()
    """Weight of each latent channel in the loss, e.g. the codec's squared scales."""

    def __post_init__(self) -> None:
        settle(self, DRAWING)
        settle(self, {"rollout": Number(0, 1), "proprio_weight": Number(0, 1e6)})


@dataclass(frozen=True)
class Context:
    """What does not depend on the noisy frame."""

    last: Tensor  # (B, C, U, V) latents of the last frame
    features: Tensor  # (B, W, U, V)
    deep: Tensor  # (B, W', U/2, V/2)
    condition: Tensor  # (B, D)
    proprio: Tensor  # (B, P) foreseen


class NextFrameNet(nn.Module):
    """`WorldModel` that generates one frame a call; longer histories than ``config.step.history`` are cut."""

    frames_per_call: ClassVar[int] = 1

    def __init__(self, config: NextFrameConfig) -> None:
        super().__init__()
        self.config = config
        dim, channels, width = config.condition_dim, config.latent_channels, config.unet.width
        self.step = StepCondition(config.step, dim)
        self.encode_map = ConditionMap(dim, width, width, config.grid)
        self.encoder = Encoder(config.unet, config.step.history * channels, dim)
        self.foreseer = Foreseer(ForecastConfig(), dim, config.step.proprio_dim)
        self.noise_level = TimestepEmbedding(dim)
        self.draw_condition = nn.Sequential(
            nn.Linear(config.step.proprio_dim + 2 * dim, dim), nn.SiLU(), nn.Linear(dim, dim), nn.SiLU()
        )
        points = len(config.proprio_points) // 2
        self.draw_points = PointMaps(points, width, config.grid) if points else None
        self.draw_map = ConditionMap(dim, width, width, config.grid)
        self.drawer = Drawer(config.unet, 2 * channels + width, channels, dim)

    def condition(self, history: History, actions: Tensor) -> Context:
        """See `WorldModel.condition`; ``actions`` ``(B, 1, a, A)``."""
        history = last_frames(history, self.config.step.history)
        condition = self.step(history, actions)
        features, deep = self.encoder(history.latents.flatten(1, 2), condition, self.encode_map(condition))
        last = history.proprio[:, -1]
        proprio, _, _ = self.foreseer(condition, last, last[:, :0])
        return Context(history.latents[:, -1], features, deep, condition, proprio)

    def denoise(self, noisy: Tensor, noise_level: Tensor, context: Context) -> Denoised:
        """See `WorldModel.denoise`; n is 1."""
        z, proprio = noisy[:, 0], context.proprio
        level = self.noise_level(noise_level[:, 0])
        condition = self.draw_condition(torch.cat([proprio, level, context.condition], dim=-1))
        drawn = self.draw_map(condition)
        if self.draw_points is not None:
            drawn = drawn + self.draw_points(proprio[:, list(self.config.proprio_points)])
        pictures = torch.cat([z, context.last, drawn], dim=1)
        out, log_error = self.drawer(pictures, condition, context.features, context.deep)
        clean = z - noise_level[:, :, None, None] * out if self.config.prediction == "v" else context.last + out
        return Denoised(clean[:, None], proprio[:, None], log_error)

    def loss(self, clip: Clip, generator: torch.Generator) -> tuple[Tensor, dict[str, Tensor]]:
        """Every frame after the history, from true frames or (share ``rollout``) from the model's own."""
        count = self.config.step.history
        steps = clip.latents.shape[1] - count
        if torch.rand((), generator=generator, device=generator.device) < self.config.rollout:
            return self._own_rollout_loss(clip, steps, generator)
        windows = [clip.history(k, k + count) for k in range(steps)]
        history = History(*(torch.cat([getattr(w, n) for w in windows]) for n in _HISTORY))
        actions, latents, proprio = (
            torch.cat([x[:, k + count - 1 + after] for k in range(steps)])
            for x, after in ((clip.actions, 0), (clip.latents, 1), (clip.proprio, 1))
        )
        loss, logs, _ = self._step_loss(history, actions[:, None], latents, proprio, generator)
        return loss, logs

    def _own_rollout_loss(self, clip: Clip, steps: int, generator: torch.Generator) -> tuple[Tensor, dict[str, Tensor]]:
        """Each frame from frames that the model made."""
        count = self.config.step.history
        history = clip.history(0, count)
        total = torch.zeros((), device=clip.latents.device)
        logs: dict[str, Tensor] = {}
        for k in range(count, count + steps):
            action, target = clip.actions[:, k - 1 : k], clip.latents[:, k]
            loss, logs, context = self._step_loss(history, action, target, clip.proprio[:, k], generator)
            total = total + loss / steps
            with torch.no_grad():
                noise = draw_noise(target[:, None], generator)
                made = self.denoise(noise, torch.ones_like(history.proprio[:, -1:, 0]), context)
            history = History(
                torch.cat([history.latents[:, 1:], made.latents.to(history.latents.dtype)], dim=1),
                torch.cat([history.proprio[:, 1:], made.proprio.float()], dim=1),
                clip.actions[:, k - count + 1 : k],
                clip.valid[:, k - count + 1 : k + 1],
            )
        return total, {f"own_{name}": value for name, value in logs.items()}

    def _step_loss(
        self, history: History, actions: Tensor, target: Tensor, proprio: Tensor, generator: torch.Generator
    ) -> tuple[Tensor, dict[str, Tensor], Context]:
        """``actions`` ``(B, 1, a, A)``, ``target`` ``(B, C, U, V)``, its ``proprio`` ``(B, P)``."""
        context = self.condition(history, actions)
        levels = draw_levels((len(target), 1), self.config.noise, generator, target.device)
        noisy = add_noise(target[:, None], draw_noise(target[:, None], generator), levels)
        made = self.denoise(noisy, levels, context)
        squared = channel_error(made.latents[:, 0], target, self.config.channel_weights)  # (B,)
        moved = step_error(context.proprio, proprio)
        error = (made.log_error[:, 0].float() - squared.detach().clamp_min(1e-8).log()).square().mean()
        logs = {"latent": squared.mean().detach(), "log_error": error.detach(), "proprio": moved.detach()}
        return 10 * squared.mean() + self.config.proprio_weight * moved + 0.01 * error, logs, context


_HISTORY = ("latents", "proprio", "actions", "valid")
