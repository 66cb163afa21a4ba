"""The forecast's parts against hand-computed cases."""

from __future__ import annotations

import math

import torch

from world_model.models.forecast import Doubt, ForecastConfig, Foreseer, doubt_loss, rigid_motion


def test_rigid_motion_recovers_a_turn_and_a_shift() -> None:
    points = torch.tensor([[[0.0, 0.0], [2.0, 0.0], [0.0, 1.0]]])
    turned = torch.stack([-points[..., 1], points[..., 0]], dim=-1) + torch.tensor([0.5, -0.3])  # a quarter turn
    torch.testing.assert_close(rigid_motion(points.flatten(1), turned.flatten(1)), turned.flatten(1))


def test_rigid_motion_keeps_distances_and_centre_of_a_bent_proposal() -> None:
    generator = torch.Generator().manual_seed(0)
    before, after = torch.randn(5, 8, generator=generator), torch.randn(5, 8, generator=generator)
    moved = rigid_motion(before, after).unflatten(1, (4, 2))
    torch.testing.assert_close(torch.cdist(moved, moved), torch.cdist(*[before.unflatten(1, (4, 2))] * 2))
    torch.testing.assert_close(moved.mean(1), after.unflatten(1, (4, 2)).mean(1))


def test_foreseer_keeps_bodies_rigid_and_leaves_other_points_free() -> None:
    config = ForecastConfig(state_dim=8, rigid=((1, 4),), hidden=16)
    net = Foreseer(config, condition_dim=4, proprio_dim=2)
    torch.nn.init.normal_(net.change.weight, generator=torch.Generator().manual_seed(0))
    now = torch.linspace(-0.7, 0.7, 8)[None].square()
    _, following, _ = net(torch.ones(1, 4), torch.zeros(1, 2), now)
    before, after = now.unflatten(1, (4, 2)), following.unflatten(1, (4, 2))
    assert not torch.equal(before[:, 1:], after[:, 1:])
    torch.testing.assert_close(torch.cdist(after[:, 1:], after[:, 1:]), torch.cdist(before[:, 1:], before[:, 1:]))
    assert (torch.cdist(after, after) - torch.cdist(before, before)).abs().max() > 1e-3


def test_doubt_loss_is_least_at_the_mean_error() -> None:
    squared = torch.tensor([0.5, 1.0, 1.5]) * 1e-3
    guesses = torch.linspace(math.log(1e-4), math.log(1e-2), 201)
    losses = torch.stack([doubt_loss(g.expand(3), squared) for g in guesses])
    assert abs(float(guesses[losses.argmin()]) - math.log(1e-3)) < 0.1


def test_doubt_learns_which_rows_go_wrong() -> None:
    """Half of the rows carry a mark in their features and a hundred times the error."""
    generator = torch.Generator().manual_seed(0)
    hidden = torch.randn(64, 8, generator=generator)
    squared = torch.where(hidden[:, 0] > 0, 1e-2, 1e-4)
    net, start = Doubt(8), torch.full((64, 1), -8.0)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    for _ in range(150):
        loss = doubt_loss(net(hidden, start)[:, 0], squared)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    doubt = net(hidden, start)[:, 0].detach()
    assert doubt[hidden[:, 0] > 0].mean() - doubt[hidden[:, 0] <= 0].mean() > 3
    assert float(net.latent_error(torch.zeros(1))) == 0.0
