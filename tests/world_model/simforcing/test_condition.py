"""The simulator as a condition: nothing at first, gated by example, corrupted as drawn."""

from __future__ import annotations

import pytest
import torch

from world_model.errors import InputError
from world_model.simforcing import ConditionConfig, SimCondition, corrupt, draw_gate


def test_it_adds_nothing_before_training_and_gradients_reach_every_block() -> None:
    condition = SimCondition(ConditionConfig(), 4, [(6, 2)] * 3)
    latents = torch.randn(2, 5, 4, 8, 6, generator=torch.Generator().manual_seed(0))
    added = [condition(block, latents, torch.ones(2)) for block in range(3)]
    for part in added:
        assert part is not None
        assert part.shape == (2, 5, 12, 6)
        assert part.abs().max() == 0
    torch.stack([part.sum() for part in added if part is not None]).sum().backward()
    for layer in condition.into.values():
        assert layer.weight.grad is not None
        assert layer.weight.grad.abs().sum() > 0


def test_only_the_named_blocks_are_told() -> None:
    condition = SimCondition(ConditionConfig(blocks=(1,)), 4, [(6, 2)] * 3)
    assert condition(0, torch.zeros(1, 1, 4, 2, 2), torch.ones(1)) is None
    assert condition(1, torch.zeros(1, 1, 4, 2, 2), torch.ones(1)) is not None
    with pytest.raises(InputError, match="names 3 but the model has 3"):
        SimCondition(ConditionConfig(blocks=(3,)), 4, [(6, 2)] * 3)


def test_a_closed_gate_shuts_its_own_example_only() -> None:
    condition = SimCondition(ConditionConfig(), 4, [(6, 2)])
    torch.nn.init.ones_(condition.into["0"].weight)
    added = condition(0, torch.ones(2, 1, 4, 2, 2), torch.tensor([0.0, 1.0]))
    assert added is not None
    assert added[0].abs().max() == 0
    torch.testing.assert_close(added[1], torch.full((1, 1, 6), 16.0))


def test_the_gate_opens_as_often_as_it_should() -> None:
    gate = draw_gate(4000, 0.7, torch.Generator().manual_seed(0))
    assert set(gate.tolist()) == {0.0, 1.0}
    assert gate.mean().item() == pytest.approx(0.7, abs=0.03)


def test_corruption_fades_and_noises_a_share() -> None:
    latents = torch.ones(2000, 1, 1, 8, 8)
    made = corrupt(latents, ConditionConfig(), torch.Generator().manual_seed(0))
    level = made.mean(dim=(1, 2, 3, 4))
    untouched = (made == 1).all(dim=(1, 2, 3, 4))
    assert untouched.float().mean().item() == pytest.approx(0.6, abs=0.04)
    assert 0.45 < level[~untouched].min() < 0.55
    assert 0.85 < level[~untouched].max() < 0.95
    deviation = made[~untouched].std(dim=(2, 3, 4)).squeeze()
    kept = level[~untouched]
    scale = deviation / (1 - kept)
    assert scale.median().item() == pytest.approx(0.2, abs=0.03)
    same = corrupt(latents, ConditionConfig(corrupted=0.0), torch.Generator().manual_seed(0))
    assert torch.equal(same, latents)


def test_ranges_must_rise() -> None:
    with pytest.raises(InputError, match=r"kept is 0.9 to 0.5"):
        ConditionConfig(kept=(0.9, 0.5))
