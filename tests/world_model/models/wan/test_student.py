"""The joint student over a tiny Wan: both stages of training, and both stages of a generation."""

from __future__ import annotations

import pytest
import torch

pytest.importorskip("diffusers")

from tests.world_model.models.wan.tiny import GRID, NEW, clip, tiny
from world_model.diffusion.samplers import EulerConfig, EulerSampler
from world_model.interface import Clip
from world_model.models.wan.student import WanForcing, WanForcingConfig
from world_model.simforcing import ConditionConfig, PairClip, Steered


def student(**fields: object) -> WanForcing:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return WanForcing(WanForcingConfig(video=tiny(), **fields))  # type: ignore[arg-type]


def pair() -> PairClip:
    real, sim = clip(1), clip(2)
    return PairClip(real, Clip(sim.latents, sim.proprio, real.actions, real.valid))


def generate(model: object, of: Clip, steps: int = 2) -> torch.Tensor:
    z = torch.randn(2, NEW, 4, *GRID, generator=torch.Generator().manual_seed(7))
    sampler = EulerSampler(EulerConfig(steps, 5.0))
    with torch.no_grad():
        return sampler.sample(model, of.history(0, 1), of.actions, lambda step: z).latents  # type: ignore[arg-type]


def test_both_stages_of_training_and_a_frozen_teacher() -> None:
    model = student(condition=ConditionConfig(present=1.0))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for stage in (1, 2):
        if stage == 2:
            model.freeze_teacher()
            teacher = {name: value.clone() for name, value in model._teacher[0].state_dict().items()}
        for step in range(3):
            loss, logs = model.loss(clip(2) if stage == 1 else pair(), torch.Generator().manual_seed(step))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    assert {"flow_real", "flow_sim", "motion_real", "motion_sim"} <= set(logs)
    for name, value in model._teacher[0].state_dict().items():
        assert torch.equal(value, teacher[name])
        assert torch.equal(value, model.video.state_dict()[name]) == (not _trained(model, name))
    assert all(layer.weight.grad.abs().sum() > 0 for layer in model.told.into.values())  # type: ignore[union-attr]


def _trained(model: WanForcing, name: str) -> bool:
    return dict(model.video.named_parameters()).get(name, torch.zeros(1)).requires_grad


@pytest.mark.parametrize(("guidance", "passes"), [(0.0, 2), (0.6, 4), (1.0, 2)])
def test_two_stages_of_a_generation(guidance: float, passes: int) -> None:
    """Simulated first frame to the simulator's latents, gate off; real first frame and these to the real latents."""
    model, both, calls = student(), pair(), []
    for layer in model.told.into.values():
        torch.nn.init.normal_(layer.weight, std=0.3)
    sim = torch.cat([both.sim.latents[:, :1], generate(model, both.sim)], dim=1)
    model.video.video.register_forward_pre_hook(lambda _, given: calls.append(given[5] is not None))
    made = generate(Steered(model, sim, guidance), both.real)
    assert (len(calls), calls.count(True)) == (passes, 0 if guidance == 0 else 2)
    plain = generate(model, both.real)
    assert torch.equal(made, plain) if guidance == 0 else (made - plain).abs().max() > 1e-4


def test_one_step_by_hand() -> None:
    model, both, w = student(), pair(), 0.6
    for layer in model.told.into.values():
        torch.nn.init.normal_(layer.weight, std=0.3)
    sim = both.sim.latents
    off, on, made = (generate(Steered(model, sim, weight), both.real, 1) for weight in (0.0, 1.0, w))
    torch.testing.assert_close(made, off + w * (on - off))
