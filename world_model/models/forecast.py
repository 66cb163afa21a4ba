"""Where things will be one frame on: proprio and, where it is recorded, the teacher's state.

Reading and foreseeing are two networks. The reader finds key points in the features of frames; the foreseer maps
(state, condition) to the next proprio and state, sees no pixels, and can therefore be trained on many long unrolled
sequences for the price of a few frames.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from world_model.errors import InputError
from world_model.models.layers import cell_centres, fourier
from world_model.models.step_condition import PAIRS
from world_model.rules import FLAG, Whole, settle

# Typical one-frame change of a normalised proprio or state number; losses are measured in it.
STEP_SCALE = 0.02
_LOG_RANGE = 20.0
_SURPRISE = 20.0


@dataclass(frozen=True)
class ForecastConfig:
    """Sizes. The state is (x, y) pairs of key points in the picture, each from -1 to 1 from edge to edge.

    With ``soft_points`` it is any numbers about [-1, 1], read through that many points that the reader chooses itself.
    ``relative`` pairs (proprio dimension, state dimension) of one quantity, e.g. hand and object x; ``rigid`` ranges
    (first, past last) of key points that belong to one body and keep their distances.
    """

    state_dim: int = 0
    relative: tuple[tuple[int, int], ...] = ()
    rigid: tuple[tuple[int, int], ...] = ()
    soft_points: int = 0
    octaves: int = 3
    products: bool = True
    """Give the foreseer all products of the state's numbers and distances."""
    hidden: int = 512
    layers: int = 3

    def __post_init__(self) -> None:
        size = Whole(0, 65_536)
        settle(self, {"state_dim": size, "soft_points": size, "octaves": Whole(0, 32), "products": FLAG})
        settle(self, {"hidden": Whole(1, 65_536), "layers": Whole(1, 256), "relative": PAIRS, "rigid": PAIRS})
        for first, last in self.rigid:
            if not first < last <= self.state_dim // 2:
                raise InputError(
                    f"rigid has the key points {first} to {last} but there are {self.state_dim // 2}; name some of them"
                )


class PointReader(nn.Module):
    """Key points ``(B, 2 K)`` from feature maps at two scales: x and y of each from edge to edge of the picture.

    Each point is a softmax-weighted mean of cells plus learned offsets, so that a place below a cell's size is read
    from the first minutes on; a dense layer over all cells takes many times as many pictures to learn it.
    """

    centres: Tensor

    def __init__(self, points: int, fine: int, coarse: int, grid: tuple[int, int]) -> None:
        super().__init__()
        self.points = points
        self.from_fine = nn.Conv2d(fine, 3 * self.points, 1)
        self.from_coarse = nn.Conv2d(coarse, 3 * self.points, 1)
        y, x = torch.meshgrid(*(cell_centres(n) for n in grid), indexing="ij")
        self.register_buffer("centres", torch.stack([x, y], dim=-1).flatten(0, 1), persistent=False)  # (U V, 2)
        self.cell = 2 / max(grid)

    def forward(self, fine: Tensor, coarse: Tensor, proprio: Tensor | None = None) -> Tensor:
        """``fine`` ``(B, C, U, V)``, ``coarse`` ``(B, C', U / 2, V / 2)``; points need no proprio."""
        maps = self.from_fine(F.silu(fine)) + F.interpolate(self.from_coarse(F.silu(coarse)), scale_factor=2.0)
        scores, *offsets = maps.float().flatten(2).split(self.points, dim=1)  # (B, K, U V) each
        weight = scores.softmax(dim=-1)
        places = self.centres + self.cell * torch.stack(offsets, dim=-1)  # (B, K, U V, 2)
        return (weight[..., None] * places).sum(dim=2).flatten(1)


class SceneReader(nn.Module):
    """State ``(B, S)`` of any meaning from feature maps and proprio, through points that training chooses."""

    def __init__(self, config: ForecastConfig, fine: int, coarse: int, grid: tuple[int, int], proprio_dim: int) -> None:
        super().__init__()
        self.octaves = config.octaves
        self.soft = PointReader(config.soft_points, fine, coarse, grid)
        seen = fourier(torch.zeros(1, 2 * config.soft_points + proprio_dim), config.octaves).shape[-1]
        self.first = nn.Linear(seen + coarse, 2 * config.hidden)
        self.second = nn.Linear(config.hidden, 2 * config.hidden)
        self.out = nn.Linear(config.hidden, config.state_dim)

    def forward(self, fine: Tensor, coarse: Tensor, proprio: Tensor) -> Tensor:
        """``fine`` ``(B, C, U, V)``, ``coarse`` ``(B, C', U / 2, V / 2)``, ``proprio`` ``(B, P)``."""
        numbers = torch.cat([self.soft(fine, coarse), proprio], dim=-1)
        x = torch.cat([fourier(numbers, self.octaves), F.silu(coarse).mean(dim=(2, 3))], dim=-1)
        x = F.glu(self.first(x))
        x = x + F.glu(self.second(F.rms_norm(x, x.shape[-1:])))
        return self.out(x).float()


class Foreseer(nn.Module):
    """Next proprio and state from the present ones and the condition, as a change of gated residual layers."""

    def __init__(self, config: ForecastConfig, condition_dim: int, proprio_dim: int) -> None:
        super().__init__()
        self.config, self.proprio_dim = config, proprio_dim
        zeros = torch.zeros(1, proprio_dim), torch.zeros(1, config.state_dim)
        seen = self._features(*zeros).shape[-1] if config.state_dim else 0
        self.first = nn.Linear(condition_dim + seen, 2 * config.hidden)
        self.layers = nn.ModuleList(nn.Linear(config.hidden, 2 * config.hidden) for _ in range(config.layers - 1))
        self.change = nn.Linear(config.hidden, proprio_dim + config.state_dim)
        nn.init.zeros_(self.change.weight)

    def forward(self, condition: Tensor, proprio: Tensor, now: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """``condition`` ``(B, D)``, ``proprio`` ``(B, P)``, ``now`` ``(B, S)``.

        Returns the next proprio and state, and what the layers hold, ``(B, hidden)``.
        """
        x = torch.cat([condition, self._features(proprio, now)], dim=-1) if self.config.state_dim else condition
        x = F.glu(self.first(x))
        for layer in self.layers:
            x = x + F.glu(layer(F.rms_norm(x, x.shape[-1:])))
        change = STEP_SCALE * self.change(x).float()
        following = self.keep_rigid(now, now + change[:, self.proprio_dim :])
        return proprio + change[:, : self.proprio_dim], following, x

    def keep_rigid(self, now: Tensor, following: Tensor) -> Tensor:
        """``following`` ``(B, S)`` with bodies as they are ``now``, turned and shifted only."""
        for first, last in self.config.rigid:
            body = slice(2 * first, 2 * last)
            moved = rigid_motion(now[:, body], following[:, body])
            following = torch.cat([following[:, : 2 * first], moved, following[:, 2 * last :]], dim=1)
        return following

    def _features(self, proprio: Tensor, now: Tensor) -> Tensor:
        """State, distances and their products: a turn of the frame of reference is a sum of such products."""
        away = [4 * (proprio[:, p] - now[:, s]) for p, s in self.config.relative]
        base = torch.cat([now, *(a[:, None] for a in away)], dim=-1)
        features = fourier(base, self.config.octaves)
        if not self.config.products:
            return features
        return torch.cat([features, (base[:, :, None] * base[:, None, :]).flatten(1)], dim=-1)


class Doubt(nn.Module):
    """The forecast's own error: log of the expected mean squared error of proprio and state, carried like the state.

    It reads what the foreseer's layers hold and does not shape them.
    """

    def __init__(self, hidden: int, width: int = 64) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(hidden + 1, width), nn.SiLU(), nn.Linear(width, 1))
        # Latent squared error of a frame whose things stand off by a mean square d: reach d / (d + width).
        self.log_reach = nn.Parameter(torch.zeros(()))
        self.log_width = nn.Parameter(torch.tensor(math.log(1e-2)))

    def forward(self, hidden: Tensor, doubt: Tensor) -> Tensor:
        """``hidden`` ``(B, hidden)``, ``doubt`` ``(B, 1)`` to the next ``(B, 1)``."""
        change = self.net(torch.cat([hidden.detach(), doubt / 10], dim=-1)).float()
        return (doubt + change).clamp(-_LOG_RANGE, _LOG_RANGE)

    def latent_error(self, squared: Tensor) -> Tensor:
        """Expected latent squared error where things stand off by mean square ``squared``."""
        return self.log_reach.exp() * squared / (squared + self.log_width.exp())


def doubt_loss(doubt: Tensor, squared: Tensor) -> Tensor:
    """Negative log likelihood of ``squared`` errors under an exponential law of mean ``exp(doubt)``.

    Surprises beyond some twenty times the mean count by their logarithm, so that single ones do not rule the gradient.
    """
    surprise = squared.detach() * torch.exp(-doubt)
    return (doubt + _SURPRISE * torch.log1p(surprise / _SURPRISE)).mean()


def rigid_motion(before: Tensor, after: Tensor) -> Tensor:
    """The turn and shift of points ``before`` that comes nearest to ``after``; both ``(B, 2 K)`` of x, y, x, y, ...

    Kabsch's least-squares fit, which has a closed form in the plane.
    """
    old, new = (p.float().reshape(len(p), -1, 2) for p in (before, after))  # (B, K, 2)
    centre, goal = old.mean(dim=1, keepdim=True), new.mean(dim=1, keepdim=True)
    x, y = (old - centre).unbind(-1)
    u, v = (new - goal).unbind(-1)
    cos, sin = (x * u + y * v).sum(1, keepdim=True), (x * v - y * u).sum(1, keepdim=True)
    length = (cos.square() + sin.square()).clamp_min(1e-12).sqrt()
    cos, sin = cos / length, sin / length
    return (torch.stack([cos * x - sin * y, sin * x + cos * y], dim=-1) + goal).flatten(1)


def step_error(estimate: Tensor, truth: Tensor) -> Tensor:
    """Mean smooth L1 of normalised numbers in units of `STEP_SCALE`."""
    return F.smooth_l1_loss(estimate.float() / STEP_SCALE, truth.float() / STEP_SCALE, beta=0.2)
