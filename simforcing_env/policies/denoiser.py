"""The network of a diffusion policy: noisy chunks of actions to clean ones, given what is seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, get_args

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from world_model.extras import require
from world_model.models.layers import TimestepEmbedding, fourier
from world_model.rules import FLAG, Choice, Number, Rule, Whole, settle

Prediction = Literal["v_prediction", "sample", "epsilon"]
SIZE = Whole(1, 65_536)
RULES: Mapping[str, Rule] = MappingProxyType(
    {
        **dict.fromkeys(("sight", "action_dim", "horizon", "width", "layers", "noise_steps", "sample_steps"), SIZE),
        "octaves": Whole(0, 16),
        "prediction": Choice(get_args(Prediction)),
        "reach": Number(0.1, 100),
        "places": FLAG,
    }
)


@dataclass(frozen=True)
class DenoiserConfig:
    """Sizes, and the diffusion's schedule."""

    sight: int = 8
    """Numbers that tell what is seen; the first ``action_dim`` are where the hand is, in [-1, 1]."""
    action_dim: int = 2
    horizon: int = 16
    """Actions of a chunk."""
    places: bool = True
    """Actions are places for the hand, and are learned relative to where it is."""
    width: int = 256
    layers: int = 4
    octaves: int = 3
    """Of the Fourier features of what is seen."""
    noise_steps: int = 100
    """Of the schedule that training draws from."""
    sample_steps: int = 6
    """Of the sampler."""
    prediction: Prediction = "v_prediction"
    reach: float = 4.0
    """Clean actions lie within so many standard deviations."""

    def __post_init__(self) -> None:
        settle(self, RULES)


class ActionDenoiser(nn.Module):
    """Gated residual layers over a flattened chunk; the noise level and what is seen enter every layer.

    Where actions are places, chunks are relative to the hand. Each action of a chunk is in its own standard deviations
    (``mean`` and ``spread``, which training sets): near ones are small and far ones large.
    """

    mean: Tensor  # (n, A)
    spread: Tensor  # (n, A)

    def __init__(self, config: DenoiserConfig) -> None:
        super().__init__()
        self.config = config
        chunk = config.horizon * config.action_dim
        self.register_buffer("mean", torch.zeros(config.horizon, config.action_dim))
        self.register_buffer("spread", torch.ones(config.horizon, config.action_dim))
        seen = config.sight * (1 + 2 * config.octaves)
        self.level = TimestepEmbedding(config.width)
        self.see = nn.Sequential(nn.Linear(seen, config.width), nn.SiLU(), nn.Linear(config.width, config.width))
        self.enter = nn.Linear(chunk, config.width)
        self.films = nn.ModuleList(nn.Linear(config.width, 2 * config.width) for _ in range(config.layers))
        self.gates = nn.ModuleList(nn.Linear(config.width, 4 * config.width) for _ in range(config.layers))
        self.leave = nn.ModuleList(nn.Linear(2 * config.width, config.width) for _ in range(config.layers))
        self.out = nn.Linear(config.width, chunk)

    def condition(self, sight: Tensor) -> Tensor:
        """``(B, sight)`` in [-1, 1] to ``(B, width)``, once for all steps of a generation."""
        return self.see(fourier(sight, self.config.octaves))

    def forward(self, noisy: Tensor, step: Tensor, condition: Tensor) -> Tensor:
        """``noisy`` ``(B, n, A)`` at ``step`` ``(B,)`` of the schedule to the prediction ``(B, n, A)``."""
        told = F.silu(condition + self.level(step / self.config.noise_steps))
        x = self.enter(noisy.flatten(1))
        for film, gate, leave in zip(self.films, self.gates, self.leave, strict=True):
            scale, shift = film(told).chunk(2, dim=-1)
            x = x + leave(F.glu(gate(F.rms_norm(x, x.shape[-1:]) * (1 + scale) + shift)))
        return self.out(F.rms_norm(x, x.shape[-1:])).view_as(noisy)

    def relative(self, actions: Tensor, sight: Tensor) -> Tensor:
        """Actions ``(B, n, A)`` in [-1, 1] as the chunks that the network works on."""
        return (actions - self._hand(sight) - self.mean) / self.spread

    def absolute(self, chunks: Tensor, sight: Tensor) -> Tensor:
        """Inverse of `relative`, within [-1, 1]."""
        return (chunks * self.spread + self.mean + self._hand(sight)).clamp(-1, 1)

    def _hand(self, sight: Tensor) -> Tensor | float:
        return sight[:, None, : self.config.action_dim] if self.config.places else 0.0

    def loss(self, actions: Tensor, sight: Tensor, generator: torch.Generator) -> Tensor:
        """Mean squared error of the prediction for actions ``(B, n, A)`` in [-1, 1] and what was seen then."""
        clean, schedule = self.relative(actions, sight), self.schedule("DDPMScheduler")
        step = torch.randint(self.config.noise_steps, (len(clean),), generator=generator)
        noise = torch.randn(clean.shape, generator=generator)
        noisy = schedule.add_noise(clean, noise, step)
        wanted = {"epsilon": noise, "sample": clean}.get(self.config.prediction)
        if wanted is None:
            wanted = schedule.get_velocity(clean, noise, step)
        made = self(noisy, step.float(), self.condition(sight))
        return F.mse_loss(made.float(), wanted)

    @torch.inference_mode()
    def sample(self, sight: Tensor, noise: Tensor, steps: int | None = None) -> Tensor:
        """Actions ``(B, n, A)`` in [-1, 1] from ``noise`` of that shape, by DDIM without further noise."""
        scheduler = self.schedule("DDIMScheduler", timestep_spacing="trailing")
        scheduler.set_timesteps(steps or self.config.sample_steps)
        condition, x = self.condition(sight), noise
        for step in scheduler.timesteps:
            told = self(x, step.float().expand(len(x)), condition)
            x = scheduler.step(told.float(), step, x).prev_sample
        return self.absolute(x, sight)

    def schedule(self, name: str, **settings: Any) -> Any:
        """A scheduler of diffusers.

        Raises:
            MissingExtraError: diffusers is not installed.
        """
        return getattr(require("diffusers", "diffusers"), name)(
            num_train_timesteps=self.config.noise_steps,
            beta_schedule="squaredcos_cap_v2",
            prediction_type=self.config.prediction,
            clip_sample=True,
            clip_sample_range=self.config.reach,
            **settings,
        )
