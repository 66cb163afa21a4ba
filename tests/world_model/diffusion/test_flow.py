"""Noise levels and flow arithmetic, by hand."""

from __future__ import annotations

import torch

from world_model.diffusion import EulerConfig, EulerSampler
from world_model.diffusion.flow import NoiseConfig, add_noise, channel_error, draw_levels, level_grid, shift_levels
from world_model.interface import Denoised


def test_add_noise_at_the_ends_and_between() -> None:
    clean, noise = torch.full((1, 3, 2), 4.0), torch.full((1, 3, 2), -4.0)
    out = add_noise(clean, noise, torch.tensor([[0.0, 0.25, 1.0]]))
    assert out[0, :, 0].tolist() == [4.0, 2.0, -4.0]


def test_shift_and_grid() -> None:
    assert shift_levels(torch.tensor(0.5), 5.0).item() == torch.tensor(2.5 / 3).item()
    assert level_grid(4).tolist() == [1.0, 0.75, 0.5, 0.25, 0.0]
    grid = level_grid(3, shift=5.0)
    assert grid[0] == 1
    assert grid[-1] == 0
    assert bool((grid.diff() < 0).all())


def test_levels_hold_the_share_of_pure_noise() -> None:
    levels = draw_levels((4000, 2), NoiseConfig(pure=0.5), torch.Generator().manual_seed(0), torch.device("cpu"))
    assert 0.47 < (levels == 1).float().mean() < 0.53
    assert levels.min() >= 0
    assert levels.max() <= 1


def test_euler_is_exact_for_a_straight_flow() -> None:
    """If the data is a single point the flow is straight: any number of Euler steps gives that point."""

    class Point:
        def condition(self, history: object, actions: object) -> None:
            return None

        def denoise(self, z: torch.Tensor, level: torch.Tensor, context: None) -> Denoised:
            return Denoised(torch.ones_like(z), torch.zeros(1, 1, 1), torch.zeros(1, 1))

    z = torch.randn(1, 1, 2, 3, 3, generator=torch.Generator().manual_seed(0))
    for steps in (1, 2, 8):
        made = EulerSampler(EulerConfig(steps)).sample(Point(), None, None, lambda _: z)  # type: ignore[arg-type]
        assert torch.equal(made.latents, torch.ones_like(z))


def test_channel_error_is_weighted() -> None:
    estimate, target = torch.zeros(1, 1, 2, 1, 1), torch.tensor([1.0, 3.0]).reshape(1, 1, 2, 1, 1)
    assert channel_error(estimate, target, ()).item() == 5.0
    assert channel_error(estimate, target, (3.0, 1.0)).item() == (1.5 * 1 + 0.5 * 9) / 2
