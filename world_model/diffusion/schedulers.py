"""Samplers of the diffusers library, PNDM, DDIM and DPM-Solver++, over DDPM's linear schedule."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import torch
from torch import Tensor

from world_model.diffusion.objectives import Ddpm, DdpmConfig
from world_model.diffusion.samplers import STEPS
from world_model.extras import require
from world_model.interface import Denoised, History, WorldModel
from world_model.rules import Choice, Whole, settle

SCHEDULERS: Mapping[str, tuple[str, Mapping[str, Any]]] = MappingProxyType(
    {
        "pndm": ("PNDMScheduler", {}),
        "ddim": ("DDIMScheduler", {"clip_sample": False, "set_alpha_to_one": False}),
        "dpm_solver": ("DPMSolverMultistepScheduler", {"algorithm_type": "dpmsolver++", "solver_order": 2}),
    }
)
"""Name to class of diffusers and its settings beside those of the schedule."""
FEWEST = MappingProxyType({"pndm": 5, "ddim": 2, "dpm_solver": 1})
"""Steps that each needs: PNDM to warm up without running away, DDIM so that the first lies where the noise is."""


@dataclass(frozen=True)
class SchedulerConfig:
    """The published sampler is PNDM with 50 steps, which calls the network 59 times (12 of them to warm up)."""

    scheduler: str = "pndm"
    steps: int = 50
    spacing: str = "linspace"
    """How the steps lie on the schedule; as published."""

    def __post_init__(self) -> None:
        settle(self, {"scheduler": Choice(tuple(SCHEDULERS))})
        settle(self, {"steps": Whole(FEWEST[self.scheduler], STEPS.high)})
        settle(self, {"spacing": Choice(("linspace", "leading", "trailing"))})


class SchedulerSampler:
    """Deterministic: the start noise is the only randomness."""

    def __init__(self, config: SchedulerConfig) -> None:
        self.config = config
        self.steps = config.steps

    def with_steps(self, steps: int) -> SchedulerSampler:
        """The same sampler with another number of steps, from `FEWEST` to those of `STEPS`."""
        return SchedulerSampler(replace(self.config, steps=steps))

    def scheduler(self) -> Any:
        """A new scheduler of diffusers, which holds the state of one generation.

        Raises:
            MissingExtraError: diffusers is not installed.
        """
        name, settings = SCHEDULERS[self.config.scheduler]
        schedule = DdpmConfig()
        scheduler = getattr(require("diffusers", "diffusers"), name)(
            num_train_timesteps=schedule.steps,
            beta_start=schedule.first,
            beta_end=schedule.last,
            beta_schedule="linear",
            prediction_type="epsilon",
            timestep_spacing=self.config.spacing,
            **settings,
        )
        scheduler.set_timesteps(self.config.steps)
        return scheduler

    def sample(self, model: WorldModel, history: History, actions: Tensor, noise: Callable[[int], Tensor]) -> Denoised:
        schedule, scheduler = Ddpm(DdpmConfig()), self.scheduler()
        context = model.condition(history, actions)
        x = noise(0).float()
        for step in scheduler.timesteps:
            signal = schedule.signal[int(step)]
            alpha, sigma = float(signal.sqrt()), float((1 - signal).sqrt())
            level = float(schedule.levels[int(step)])
            levels = torch.full(x.shape[:2], level, device=x.device)
            estimate = model.denoise(x / (alpha + sigma), levels, context)
            told = (x - alpha * estimate.latents.float()) / sigma
            x = scheduler.step(told, step, x).prev_sample
        return replace(estimate, latents=x)
