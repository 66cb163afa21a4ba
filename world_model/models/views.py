"""Where points of the scene are seen: pinhole cameras that stand in the world or ride on the hand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from world_model.errors import InputError
from world_model.models.layers import PointMaps, cell_centres, fourier

_NEAR = 0.02  # m; what is nearer or behind the camera is not seen
_LONGEST = 2.0  # m that a ray is followed
_FAR = 3.0  # place given to points that are not seen: a picture's width outside it


@dataclass(frozen=True)
class ViewConfig:
    """A camera; axes are right, up and backward (it looks along its negative third axis)."""

    focal: float
    """Focal length in half pictures, 1 / tan(half the field of view)."""
    position: tuple[float, float, float]
    """m, in the world or in the hand's axes."""
    axes: tuple[float, ...]
    """Rows of the matrix whose columns are the camera's axes, nine numbers."""
    mounted: bool = False
    """Rides on the hand."""


@dataclass(frozen=True)
class SceneConfig:
    """A scene with one hand; the first three numbers of proprio are its place, the next three its turn.

    The turn is an axis-angle vector, as a part of pi, away from ``rest``. Places of hand and points are normalised by
    the same bounds ``low`` and ``high`` (m). The first ``3 points`` numbers of the state are x, y, z of points.
    """

    points: int
    low: tuple[float, float, float]
    high: tuple[float, float, float]
    rest: tuple[float, ...] = (0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, -1.0)
    """Rows of the hand's axes in the world when its turn is zero: pointing straight down."""
    views: tuple[ViewConfig, ...] = field(default_factory=tuple)
    hand_points: tuple[tuple[float, float, float], ...] = ()
    """m, in the hand's axes: further points of it that are shown, so that pictures of it turn as it does."""
    planes: tuple[float, ...] = ()
    """Heights (m) of level planes, such as the table's top; the rays of mounted views are told where they meet them."""


class SceneViews(nn.Module):
    """Pictures' coordinates of the hand and of all points, in every view.

    All in float32: bfloat16 would round a place on the table to several millimetres.
    """

    low: Tensor
    span: Tensor
    rest: Tensor
    axes: Tensor
    places: Tensor
    on_hand: Tensor

    def __init__(self, config: SceneConfig) -> None:
        super().__init__()
        self.shown = 1 + len(config.hand_points) + config.points
        for view in config.views:
            if len(view.axes) != 9 or len(view.position) != 3:
                raise InputError(f"a view has {len(view.axes)} axis numbers but needs nine, and three of position")
        self.config = config
        low, high = torch.tensor(config.low), torch.tensor(config.high)
        constants = {
            "low": low,
            "span": (high - low) / 2,
            "rest": torch.tensor(config.rest).reshape(3, 3),
            "axes": torch.tensor([view.axes for view in config.views]).reshape(-1, 3, 3),
            "places": torch.tensor([view.position for view in config.views]).reshape(-1, 3),
            "on_hand": torch.tensor([(0.0, 0.0, 0.0), *config.hand_points]),
        }
        for name, value in constants.items():
            self.register_buffer(name, value, persistent=False)

    def hand(self, proprio: Tensor) -> Tensor:
        """``(B, P)`` to ``(B, 3, 3)``: columns are the hand's axes in the world."""
        return _product(rotation(torch.pi * proprio[:, 3:6].float()), self.rest)

    def forward(self, proprio: Tensor, state: Tensor, hand: Tensor) -> list[Tensor]:
        """``(B, P)``, ``(B, S)`` and the hand's axes to ``(B, 2 shown)`` of each view: points of the hand, then others.

        x and y from -1 to 1 from edge to edge; points that are not seen are far outside.
        """
        points = state[:, : 3 * self.config.points].float().reshape(len(state), -1, 3)
        turned = _product(self.on_hand, hand.mT)  # (B, points of the hand, 3) m
        world = torch.cat([self._metres(proprio[:, None, :3].float()) + turned, self._metres(points)], dim=1)
        return [self._seen(index, world, hand) for index in range(len(self.config.views))]

    def rays(self, index: int, proprio: Tensor, hand: Tensor, grid: tuple[int, int]) -> Tensor:
        """Where each cell of the mounted view ``index`` looks from and to: ``(B, 6 + 2 planes, U, V)``.

        The camera's place, normalised as the hand's, the unit vector of the cell's ray in the world, and x and y,
        normalised, where it meets each plane; a ray that never does ends far away.
        """
        focal = self.config.views[index].focal
        axes = _product(hand, self.axes[index])
        offset = _product(hand, self.places[index, :, None])[..., 0] / self.span
        y, x = torch.meshgrid(*(cell_centres(n, hand.device) for n in grid), indexing="ij")
        ahead = torch.stack([x / focal, -y / focal, -torch.ones_like(x)]).flatten(1)  # (3, U V) in the camera's axes
        ahead = _product(axes, ahead / ahead.norm(dim=0)).reshape(-1, 3, *grid)  # (B, 3, U, V)
        origin = (proprio[:, :3].float() + offset)[..., None, None].expand(-1, -1, *grid)
        return torch.cat([origin, ahead, *self._meetings(origin, ahead)], dim=1)

    def _meetings(self, origin: Tensor, ahead: Tensor) -> Iterator[Tensor]:
        """``(B, 2, U, V)`` for each plane."""
        (low, span), shape = (self.low, self.span), (1, 2, 1, 1)
        for height in self.config.planes:
            above = low[2] + (origin[:, 2:] + 1) * span[2] - height  # (B, 1, U, V) m
            length = (above.clamp_min(0) / (-ahead[:, 2:]).clamp_min(1e-3)).clamp_max(_LONGEST)
            yield (origin[:, :2] + length * ahead[:, :2] / span[:2].reshape(shape)).clamp(-2, 2)

    def _metres(self, points: Tensor) -> Tensor:
        return self.low + (points + 1) * self.span

    def _seen(self, index: int, world: Tensor, hand: Tensor) -> Tensor:
        view, axes, place = self.config.views[index], self.axes[index][None], self.places[index, :, None][None]
        if view.mounted:
            axes, place = _product(hand, axes), world[:, 0, :, None] + _product(hand, place)
        x, y, backward = _product(world - place.mT, axes).unbind(-1)  # (B, K)
        ahead = (-backward).clamp_min(_NEAR)
        seen = torch.stack([view.focal * x / ahead, -view.focal * y / ahead], dim=-1)
        hidden = (backward > -_NEAR)[..., None]
        return torch.where(hidden, _FAR, seen.clamp(-_FAR, _FAR)).flatten(1)


def _product(first: Tensor, second: Tensor) -> Tensor:
    """Product of ``(..., N, 3)`` and ``(..., 3, M)``, in float32 and in single steps.

    A matrix product would round otherwise for another number of rows, and an episode depend on its neighbours.
    """
    x, y, z = (first[..., k, None] * second[..., k, None, :] for k in range(3))
    return x + y + z


def rotation(vector: Tensor) -> Tensor:
    """Matrices ``(B, 3, 3)`` of axis-angle vectors ``(B, 3)`` (Rodrigues' formula)."""
    angle = vector.square().sum(-1).clamp_min(1e-12).sqrt()[:, None, None]
    x, y, z = vector.unbind(-1)
    zero = torch.zeros_like(x)
    cross = torch.stack([zero, -z, y, z, zero, -x, -y, x, zero], dim=-1).reshape(-1, 3, 3)
    identity = torch.eye(3, device=vector.device)
    return identity + angle.sin() / angle * cross + (1 - angle.cos()) / angle.square() * _product(cross, cross)


class SceneMaps(nn.Module):
    """Feature maps that say where the hand and all points are seen; see `PointMaps`.

    A mounted view has maps of its rays besides: what stands still in the world is a function of them, as in light
    field networks (Sitzmann et al. 2021). A learned map of the cells holds what a fixed camera always sees there, such
    as the table under the arm. All of them are summed.
    """

    def __init__(self, config: SceneConfig, channels: int, grid: tuple[int, int], octaves: int = 5) -> None:
        super().__init__()
        self.mounted = [index for index, view in enumerate(config.views) if view.mounted]
        self.channels = channels
        self.grid, self.octaves = grid, octaves
        self.views = SceneViews(config)
        self.cells = nn.Parameter(torch.zeros(channels, *grid))
        self.maps = nn.ModuleList(PointMaps(self.views.shown, channels, grid) for _ in config.views)
        rays = (6 + 2 * len(config.planes)) * (1 + 2 * octaves)
        self.rays = nn.ModuleList(
            nn.Sequential(
                nn.Conv2d(rays, 2 * channels, 1),
                nn.SiLU(),
                nn.Conv2d(2 * channels, 2 * channels, 1),
                nn.SiLU(),
                nn.Conv2d(2 * channels, channels, 1),
            )
            for _ in self.mounted
        )

    def forward(self, proprio: Tensor, state: Tensor) -> Tensor:
        """``(B, P)`` and ``(B, S)`` to ``(B, channels, U, V)``."""
        hand = self.views.hand(proprio)
        seen = self.views(proprio, state, hand)
        drawn = self.cells + sum(net(points) for net, points in zip(self.maps, seen, strict=True))
        for net, index in zip(self.rays, self.mounted, strict=True):
            rays = self.views.rays(index, proprio, hand, self.grid).movedim(1, -1)  # (B, U, V, R)
            drawn = drawn + net(fourier(rays, self.octaves).movedim(-1, 1))
        return drawn


class PlanarMaps(PointMaps):
    """As `SceneMaps`, of a scene in the plane of the picture: the state is points, some proprio numbers are too."""

    def __init__(self, proprio_points: tuple[int, ...], state_dim: int, channels: int, grid: tuple[int, int]) -> None:
        super().__init__((len(proprio_points) + state_dim) // 2, channels, grid)
        self.channels, self.proprio_points = channels, list(proprio_points)

    def forward(self, proprio: Tensor, state: Tensor) -> Tensor:  # type: ignore[override]
        """``(B, P)`` and ``(B, S)`` to ``(B, channels, U, V)``."""
        return super().forward(torch.cat([proprio[:, self.proprio_points], state], dim=-1))
