"""diffusers' samplers behind our interface: numbers of calls, exactness, and equality with their plain use."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from world_model.diffusion import (
    SAMPLERS,
    EulerConfig,
    EulerSampler,
    GuidedConfig,
    GuidedSampler,
    SchedulerConfig,
    SchedulerSampler,
)
from world_model.diffusion.guidance import Guided, guided
from world_model.diffusion.objectives import Ddpm, DdpmConfig
from world_model.diffusion.schedulers import FEWEST
from world_model.errors import InputError
from world_model.interface import Denoised
from world_model.registry import build, to_dict

pytest.importorskip("diffusers")
SHAPE = (2, 3, 4, 2, 2)


def draw(seed: int = 0) -> torch.Tensor:
    return torch.randn(SHAPE, generator=torch.Generator().manual_seed(seed))


class Noise:
    """Answers, like a network, with noise that depends on what it sees; ``times`` are those of its calls."""

    def __init__(self) -> None:
        self.objective, self.times = Ddpm(DdpmConfig()), []

    def told(self, seen: torch.Tensor, time: float, context: float = 0.0) -> torch.Tensor:
        return torch.tanh(seen) * (0.9 + time / 10_000) + 0.1 * context

    def condition(self, history: Any, actions: Any) -> float:
        return 1.0

    def unconditioned(self, history: Any, actions: Any) -> float:
        return -1.0

    def denoise(self, noisy: torch.Tensor, levels: torch.Tensor, context: float) -> Denoised:
        seen, times = self.objective.enter(noisy, levels)
        self.times.append(float(times[0, 0]))
        latents = self.objective.clean(self.told(seen, self.times[-1], context), noisy, levels)
        return Denoised(latents, torch.zeros(2, 3, 2), torch.zeros(2, 3))


@pytest.mark.parametrize(("name", "steps", "calls"), [("pndm", 50, 59), ("ddim", 50, 50), ("dpm_solver", 20, 20)])
def test_calls_and_equality_with_diffusers_itself(name: str, steps: int, calls: int) -> None:
    """PNDM with 50 steps calls the network 59 times, as published; the noise goes through levels and comes back."""
    sampler, model, start = SchedulerSampler(SchedulerConfig(name, steps)), Noise(), draw()
    made = sampler.sample(model, None, None, lambda k: start).latents  # type: ignore[arg-type]
    assert len(model.times) == calls
    scheduler, x = sampler.scheduler(), start
    assert torch.allclose(torch.tensor(model.times), scheduler.timesteps.float(), atol=0.01)
    for step in scheduler.timesteps:
        x = scheduler.step(model.told(x, float(step), 1.0), step, x).prev_sample
    torch.testing.assert_close(made, x, rtol=0, atol=2e-3)


@pytest.mark.parametrize("name", FEWEST)
def test_a_known_picture_is_found(name: str) -> None:
    class Point(Noise):
        def denoise(self, noisy: torch.Tensor, levels: torch.Tensor, context: float) -> Denoised:
            return Denoised(torch.full_like(noisy, 0.25), torch.zeros(2, 3, 2), torch.zeros(2, 3))

    for steps, atol in ((50, 0.06), (FEWEST[name], 4)):
        sampler = SchedulerSampler(SchedulerConfig(name, steps))
        made = sampler.sample(Point(), None, None, lambda k: draw()).latents  # type: ignore[arg-type]
        torch.testing.assert_close(made, torch.full(SHAPE, 0.25), rtol=0, atol=atol)


@pytest.mark.parametrize("name", ["pndm", "ddim"])
def test_too_few_steps(name: str) -> None:
    """diffusers fails at them, runs away, or begins where there is no noise."""
    with pytest.raises(InputError, match=f"steps is 1 but must be a whole number from {FEWEST[name]} to 1000"):
        SchedulerSampler(SchedulerConfig(name)).with_steps(1)


def test_guidance_is_a_line_through_two_answers() -> None:
    """0 is the answer without actions, 1 the plain one, 2 as far beyond it; in noise as in clean frames."""
    noisy, levels = draw(), torch.full(SHAPE[:2], 0.5)
    told, free = (Noise().denoise(noisy, levels, context).latents for context in (1.0, -1.0))
    for scale, wanted in ((0.0, free), (1.0, told), (2.0, 2 * told - free)):
        model = Guided(Noise(), scale)
        found = model.denoise(noisy, levels, model.condition(None, None)).latents  # type: ignore[arg-type]
        torch.testing.assert_close(found, wanted)
    inner = {"kind": "diffusers", "scheduler": "ddim", "steps": 5}

    def sampled(scale: float) -> torch.Tensor:
        sampler = GuidedSampler(GuidedConfig(inner, scale))
        return sampler.sample(Noise(), None, None, lambda k: draw()).latents  # type: ignore[arg-type]

    plain = SchedulerSampler(SchedulerConfig("ddim", 5)).sample(Noise(), None, None, lambda k: draw()).latents  # type: ignore[arg-type]
    assert torch.equal(sampled(1.0), plain)
    assert not torch.allclose(sampled(2.0), plain, atol=1e-2)


def test_guidance_needs_a_model_that_can_do_without_actions() -> None:
    with pytest.raises(InputError, match="object was not trained without actions"):
        Guided(object(), 2.0)
    plain = EulerSampler(EulerConfig(3))
    with pytest.raises(InputError, match="object was not trained without actions"):
        guided(plain, object(), 2.0)  # type: ignore[arg-type]
    assert guided(plain, object(), 1.0) is plain  # type: ignore[arg-type]
    again = guided(guided(plain, Noise(), 2.0), Noise(), 3.0)  # type: ignore[arg-type]
    assert isinstance(again, GuidedSampler)
    assert (again.config.scale, again.steps, again.inner.config) == (3.0, 3, plain.config)  # type: ignore[attr-defined]


def test_they_are_saved_and_take_other_steps() -> None:
    for sampler in (SchedulerSampler(SchedulerConfig("ddim", 7)), GuidedSampler(GuidedConfig({"kind": "euler"}, 3.0))):
        again = build(SAMPLERS, to_dict(SAMPLERS, sampler), "sampler.json")
        assert again.config == sampler.config
        assert again.with_steps(4).steps == 4
    with pytest.raises(InputError, match="scheduler is 'plms' but must be one of pndm, ddim, dpm_solver"):
        SchedulerConfig("plms")
