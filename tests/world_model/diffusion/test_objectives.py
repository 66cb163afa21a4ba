"""DDPM's schedule in flow levels: by hand, and against diffusers."""

from __future__ import annotations

import pytest
import torch

from world_model.diffusion.flow import NoiseConfig, add_noise
from world_model.diffusion.objectives import OBJECTIVES, Ddpm, DdpmConfig


def draw(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def test_levels_are_the_schedule_s_steps() -> None:
    """A clip at the level of step t is, up to its scale, what q(x_t | x_0) is; the network is told t."""
    objective = Ddpm(DdpmConfig())
    betas = torch.linspace(1e-4, 0.02, 1000, dtype=torch.float64)
    signal = torch.cumprod(1 - betas, 0)
    assert 4.0e-5 < signal[-1] < 4.1e-5
    clean, noise = draw(5, 2, 3, 4, 4), draw(5, 2, 3, 4, 4, seed=1)
    steps = torch.tensor([0, 1, 500, 998, 999])
    levels = objective.level(steps)[:, None].expand(5, 2)
    seen, times = objective.enter(add_noise(clean, noise, levels), levels)
    alpha, sigma = (x[steps].float()[:, None, None, None, None] for x in (signal.sqrt(), (1 - signal).sqrt()))
    torch.testing.assert_close(seen, alpha * clean + sigma * noise, rtol=0, atol=1e-6)
    torch.testing.assert_close(times, steps[:, None].expand(5, 2).float(), rtol=0, atol=0.01)


def test_noise_is_what_diffusers_adds() -> None:
    diffusers = pytest.importorskip("diffusers")
    scheduler = diffusers.DDPMScheduler(1000, beta_start=1e-4, beta_end=0.02, beta_schedule="linear")
    objective, steps = Ddpm(DdpmConfig()), torch.tensor([3, 400, 999])
    clean, noise = draw(3, 1, 2, 2, 2), draw(3, 1, 2, 2, 2, seed=1)
    levels = objective.level(steps)[:, None]
    seen, _ = objective.enter(add_noise(clean, noise, levels), levels)
    torch.testing.assert_close(seen, scheduler.add_noise(clean, noise, steps), rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", OBJECTIVES)
def test_the_right_answer_gives_the_clean_frames(name: str) -> None:
    objective = OBJECTIVES[name](NoiseConfig(pure=0.0))
    clean, noise = draw(64, 1, 2, 2, 2), draw(64, 1, 2, 2, 2, seed=1)
    levels = objective.draw((64, 1), torch.Generator().manual_seed(2), torch.device("cpu"))
    assert 0.2 < levels.mean() < 0.9
    found = objective.clean(objective.target(clean, noise), add_noise(clean, noise, levels), levels)
    torch.testing.assert_close(found, clean, rtol=0, atol=1e-3)


def test_pure_noise_is_the_last_step() -> None:
    objective = Ddpm(DdpmConfig())
    noise, ones = draw(2, 3, 1, 2, 2), torch.ones(2, 3)
    seen, times = objective.enter(noise, ones)
    assert torch.equal(seen, noise)
    assert torch.allclose(times, torch.full((2, 3), 999.0))
    assert torch.isfinite(objective.clean(noise, noise, ones)).all()
