"""Cameras against hand-computed cases."""

from __future__ import annotations

import math

import pytest
import torch
from scipy.spatial.transform import Rotation

from world_model.errors import InputError
from world_model.models.views import SceneConfig, SceneMaps, SceneViews, ViewConfig, rotation

_EYE = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)


def _scene(view: ViewConfig, points: int = 2) -> SceneConfig:
    return SceneConfig(points, (-1.0, -1.0, -1.0), (1.0, 1.0, 1.0), rest=_EYE, views=(view,))


def test_rotation_is_scipys() -> None:
    vectors = torch.randn(20, 3, generator=torch.Generator().manual_seed(0)).double()
    wanted = torch.from_numpy(Rotation.from_rotvec(vectors.numpy()).as_matrix())
    torch.testing.assert_close(rotation(vectors), wanted)
    torch.testing.assert_close(rotation(torch.zeros(1, 3))[0], torch.eye(3))


def test_a_fixed_camera_sees_points_where_a_pinhole_does() -> None:
    """Camera one metre above the origin, looking down; half a metre to the right is half the picture at focal 1."""
    views = SceneViews(_scene(ViewConfig(1.0, (0.0, 0.0, 1.0), _EYE)))
    proprio = torch.zeros(1, 7)
    state = torch.tensor([[0.5, 0.25, 0.0, 0.0, 0.0, 0.99]])  # the second lies too near to be seen
    (seen,) = views(proprio, state, views.hand(proprio))
    torch.testing.assert_close(seen[0, :4], torch.tensor([0.0, 0.0, 0.5, -0.25]))
    assert (seen[0, 4:].abs() > 2).all()


def test_a_camera_on_the_hand_moves_and_turns_with_it() -> None:
    view = ViewConfig(2.0, (0.1, 0.0, 0.0), _EYE, mounted=True)
    proprio = torch.tensor([[0.2, 0.0, 0.5, 0.0, 0.0, 0.5, 1.0]])  # a quarter turn about z: its x is the world's y
    views = SceneViews(_scene(view, points=1))
    (seen,) = views(proprio, torch.tensor([[0.2, 0.2, 0.0]]), views.hand(proprio))
    hand, point = seen[0, :2], seen[0, 2:]
    assert (hand.abs() > 2).all()  # in the camera's own plane
    torch.testing.assert_close(point, torch.tensor([2.0 * (0.2 - 0.1) / 0.5, 0.0]), atol=1e-5, rtol=0)


def test_maps_of_all_views_are_summed_and_have_gradients() -> None:
    view = ViewConfig(1 / math.tan(0.4), (0.0, 0.0, 1.0), _EYE)
    config = SceneConfig(2, (-1.0,) * 3, (1.0,) * 3, rest=_EYE, views=(view, view))
    maps = SceneMaps(config, 8, (4, 4))
    state = torch.zeros(3, 6, requires_grad=True)
    out = maps(torch.zeros(3, 7), state)
    assert out.shape == (3, 8, 4, 4)
    out.sum().backward()
    assert state.grad is not None
    assert maps.cells.grad is not None
    assert torch.isfinite(state.grad).all()


def test_a_view_needs_nine_axis_numbers() -> None:
    with pytest.raises(InputError, match="8 axis numbers"):
        SceneViews(_scene(ViewConfig(1.0, (0.0, 0.0, 1.0), _EYE[:8])))


def test_rays_point_from_the_camera_to_what_it_sees() -> None:
    """A point in the middle of a cell lies on that cell's ray, whatever the hand's place and turn."""
    view = ViewConfig(1.3, (0.05, 0.0, -0.1), (-1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, -1.0), mounted=True)
    scene = SceneViews(SceneConfig(1, (-1.0,) * 3, (1.0,) * 3, views=(view,)))
    proprio = torch.tensor([[0.1, -0.2, 0.9, 0.1, 0.05, -0.2, 1.0]])
    hand = scene.hand(proprio)
    rays = scene.rays(0, proprio, hand, (4, 4))
    point = rays[0, :3, 2, 3] + 0.4 * rays[0, 3:, 2, 3]
    (seen,) = scene(proprio, point[None], hand)
    torch.testing.assert_close(seen[0, 2:], torch.tensor([0.75, 0.25]), atol=1e-4, rtol=0)


def test_autocast_does_not_round_places() -> None:
    view = ViewConfig(1.3, (0.05, 0.0, -0.1), (-1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, -1.0), mounted=True)
    scene = SceneViews(SceneConfig(2, (-1.0,) * 3, (1.0,) * 3, views=(view,)))
    proprio = torch.tensor([[0.1, -0.2, 0.9, 0.1, 0.05, -0.2, 1.0]])
    state = torch.tensor([[0.123, -0.317, 0.41, 0.05, 0.02, 0.013]])

    def places() -> list[torch.Tensor]:
        hand = scene.hand(proprio)
        return [*scene(proprio, state, hand), scene.rays(0, proprio, hand, (4, 4))]

    exact = places()
    with torch.autocast("cpu", torch.bfloat16):
        for got, wanted in zip(places(), exact, strict=True):
            torch.testing.assert_close(got, wanted, rtol=0, atol=0)


def test_rays_are_told_where_they_meet_a_plane() -> None:
    """A metre above the floor, looking straight down with focal 1: the outer cells of four see 0.75 m to the side."""
    view = ViewConfig(1.0, (0.0, 0.0, 0.0), _EYE, mounted=True)
    scene = SceneViews(SceneConfig(1, (-1.0,) * 3, (1.0,) * 3, rest=_EYE, views=(view,), planes=(-0.5, 0.9)))
    proprio = torch.tensor([[0.1, 0.0, 0.5, 0.0, 0.0, 0.0, 1.0]])
    rays = scene.rays(0, proprio, scene.hand(proprio), (4, 4))
    assert rays.shape == (1, 10, 4, 4)
    torch.testing.assert_close(rays[0, 6:8, 0, 3], torch.tensor([0.1 + 0.75, 0.75]))
    torch.testing.assert_close(rays[0, 8:, 0, 3], torch.tensor([0.1, 0.0]))  # that plane lies above the camera


def test_points_of_the_hand_turn_with_it() -> None:
    view = ViewConfig(1.0, (0.0, 0.0, 1.0), _EYE)
    config = SceneConfig(1, (-1.0,) * 3, (1.0,) * 3, rest=_EYE, views=(view,), hand_points=((0.2, 0.0, 0.0),))
    scene = SceneViews(config)
    proprio = torch.tensor([[0.1, 0.0, 0.0, 0.0, 0.0, 0.5, 1.0]])  # a quarter turn about z
    (seen,) = scene(proprio, torch.zeros(1, 3), scene.hand(proprio))
    torch.testing.assert_close(seen[0], torch.tensor([0.1, 0.0, 0.1, -0.2, 0.0, 0.0]), atol=1e-6, rtol=0)


def test_a_scene_is_seen_the_same_alone_as_among_others() -> None:
    """To the last bit, though its own rounding is magnified by the highest octave."""
    view = ViewConfig(1 / math.tan(0.6), (0.0, 0.05, -0.1), _EYE, mounted=True)
    config = SceneConfig(2, (-1.0,) * 3, (1.0,) * 3, views=(view,), hand_points=((0.0, 0.0, -0.1),), planes=(0.0,))
    maps = SceneMaps(config, 8, (16, 16))
    generator = torch.Generator().manual_seed(0)
    proprio, state = (torch.rand(8, size, generator=generator) - 0.5 for size in (7, 6))
    hand = maps.views.hand(proprio)
    rays, seen = maps.views.rays(0, proprio, hand, (16, 16)), maps.views(proprio, state, hand)[0]
    for row in range(8):
        one = slice(row, row + 1)
        assert torch.equal(maps.views.hand(proprio[one]), hand[one])
        assert torch.equal(maps.views.rays(0, proprio[one], hand[one], (16, 16)), rays[one])
        assert torch.equal(maps.views(proprio[one], state[one], hand[one])[0], seen[one])
