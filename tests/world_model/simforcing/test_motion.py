"""SimForcing's losses, against numbers by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

from world_model.simforcing import Estimates, PairLossConfig, latent_motion, level_weight, pair_loss


def test_pure_noise_weighs_nothing_and_the_middle_most() -> None:
    weights = level_weight(torch.tensor([0.0, 0.25, 0.5, 0.75, 1.0]))
    assert weights[4] == 0
    assert weights.argmax() == 2
    low = math.exp(-0.5)
    assert (weights[2] / weights[1]).item() == pytest.approx((1 - low) / (math.exp(-0.125) - low), rel=1e-5)


def test_the_mean_weight_over_the_shifted_grid_is_one() -> None:
    u = 1 - torch.arange(1000, dtype=torch.float64) / 1000
    assert level_weight(5 * u / (1 + 4 * u)).mean().item() == pytest.approx(1.0, abs=1e-5)


def _clip(*values: float) -> torch.Tensor:
    return torch.tensor(values).reshape(1, -1, 1, 1, 1)


def test_the_published_terms_by_hand() -> None:
    """Three frames, the first one known; real is off by 0.1 in the last, sim by 0.2; the teacher moves otherwise."""
    student = Estimates(_clip(0, 1, 2.1), _clip(0, 1, 1.2), _clip(0, 1, 2), _clip(0, 1, 1))
    teacher = _clip(0, 1, 1.5)
    levels = torch.tensor([0.5])
    total, parts = pair_loss(student, teacher, levels, PairLossConfig())
    w = level_weight(levels).item()
    flow = {"real": w * (0.01 / 2) / 0.25, "sim": w * (0.04 / 2) / 0.25}
    motion = {"real": w * (0.6**2) / 2, "sim": w * (0.3**2) / 2}  # last changes 1.1 and 0.2 against 0.5
    for domain in ("real", "sim"):
        assert parts[f"flow_{domain}"].item() == pytest.approx(flow[domain], rel=1e-5)
        assert parts[f"motion_{domain}"].item() == pytest.approx(motion[domain], rel=1e-5)
    wanted = 0.5 * (flow["real"] + 0.1 * flow["sim"]) + 0.25 * (motion["real"] + 0.1 * motion["sim"])
    assert total.item() == pytest.approx(wanted, rel=1e-5)


def test_without_a_teacher_only_flow_is_left() -> None:
    student = Estimates(_clip(0, 1), _clip(0, 2), _clip(0, 0), _clip(0, 0))
    with_none, parts = pair_loss(student, None, torch.tensor([0.3]), PairLossConfig())
    assert set(parts) == {"flow_real", "flow_sim"}
    off, _ = pair_loss(student, _clip(0, 5), torch.tensor([0.3]), PairLossConfig(motion=0.0))
    assert torch.equal(with_none, off)


def test_flow_is_the_error_of_velocities() -> None:
    generator = torch.Generator().manual_seed(0)
    clean, noise, velocity = (torch.randn(2, 3, 4, 2, 2, generator=generator) for _ in range(3))
    levels = torch.tensor([0.3, 0.8])
    s = levels[:, None, None, None, None]
    made = (1 - s) * clean + s * noise - s * velocity
    _, parts = pair_loss(Estimates(made, clean, clean, clean), None, levels, PairLossConfig())
    squared = (velocity - (noise - clean))[:, 1:].square().mean(dim=(1, 2, 3, 4))
    assert parts["flow_real"].item() == pytest.approx((level_weight(levels) * squared).mean().item(), rel=1e-4)


def test_no_gradient_reaches_the_teacher() -> None:
    teacher = _clip(0, 1, 1.5).requires_grad_()
    made = _clip(0, 1, 2.1).requires_grad_()
    total, _ = pair_loss(
        Estimates(made, made, made.detach(), made.detach()), teacher, torch.tensor([0.5]), PairLossConfig()
    )
    total.backward()
    assert teacher.grad is None
    assert made.grad is not None
    assert made.grad.abs().sum() > 0


def test_motion_is_the_change_along_time() -> None:
    assert latent_motion(_clip(1, 4, 2)).flatten().tolist() == [3, -2]


def test_clean_weighting_counts_errors_alike_at_all_levels() -> None:
    student = Estimates(_clip(0, 2), _clip(0, 1), _clip(0, 0), _clip(0, 0))
    config = PairLossConfig(weighting="clean", video=10.0, motion=0.5, pictures=0.5)
    for level in (0.2, 1.0):
        total, parts = pair_loss(student, _clip(0, 1.5), torch.tensor([level]), config)
        assert {name: value.item() for name, value in parts.items()} == pytest.approx(
            {"flow_real": 4.0, "flow_sim": 1.0, "motion_real": 0.25, "motion_sim": 0.25}
        )
        assert total.item() == pytest.approx(10 / 2 * (4 + 0.1) + 0.25 / 2 * (0.25 + 0.025))
    two = Estimates(*(torch.tensor(values).reshape(1, 2, 2, 1, 1) for values in ([0.0, 0, 1, 2], [0.0] * 4) * 2))
    _, parts = pair_loss(
        replace(two, real_truth=two.sim), None, torch.tensor([1.0]), config, channel_weights=(3.0, 1.0)
    )
    assert parts["flow_real"].item() == pytest.approx((1.5 * 1 + 0.5 * 4) / 2)
