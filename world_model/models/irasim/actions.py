"""What each part of IRASim is told of the actions."""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from world_model.models.irasim.config import IrasimConfig
from world_model.models.layers import Mlp
from world_model.models.video_diffusion import whole_trajectory


class Told(NamedTuple):
    """Added to the embedding of the noise level, frame by frame ``(B, F, D)`` or for all frames ``(B, 1, D)``."""

    spatial: Tensor
    temporal: Tensor | float
    final: Tensor | float


class LinearPair(nn.Module):
    """Two linear layers, A to 4 D to D, and nothing between them."""

    def __init__(self, inputs: int, dim: int) -> None:
        super().__init__()
        self.fc1 = nn.Linear(inputs, 4 * dim)
        self.fc2 = nn.Linear(4 * dim, dim)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc2(self.fc1(x))


class ActionEmbedding(nn.Module):
    """Embeds actions by frame or by clip; one learned embedding stands for known frames' and for withheld actions."""

    def __init__(self, config: IrasimConfig) -> None:
        super().__init__()
        self.config = config
        self.count = config.frames - 1
        inputs, dim = config.action_inputs, config.dim
        by_frame, linear = config.conditioning == "frame", config.embedding == "linear"
        self.each: nn.Module | None = None
        if by_frame or linear:
            self.each = LinearPair(inputs, dim) if linear else Mlp(inputs, 4 * dim, dim)
        self.trajectory: nn.Module | None = None
        if not by_frame and linear:
            self.trajectory = Mlp(self.count * dim, self.count * dim, dim)
        elif not by_frame or config.temporal == "trajectory":
            self.trajectory = Mlp(self.count * inputs, 4 * dim, dim)
        self.unknown = nn.Parameter(torch.zeros(dim))
        nn.init.normal_(self.unknown, std=0.02)

    def forward(self, actions: Tensor, real: Tensor, withheld: Tensor) -> Told:
        """See `VideoDiffusion.embed`."""
        clip = 0.0 if self.trajectory is None else self._clip(actions, real, withheld)
        if self.config.conditioning == "video":
            return Told(clip, clip, clip)  # type: ignore[arg-type]  # Video-Ada always embeds the clip
        assert self.each is not None
        frames = self._known(self.each(actions), real & ~withheld[:, None])
        frames = F.pad(frames, (0, 0, 1, 0)) + F.pad(self.unknown.to(frames)[None], (0, 0, 0, actions.shape[1]))
        return Told(frames, clip, frames if self.config.final_frame_ada else 0.0)

    def _clip(self, actions: Tensor, real: Tensor, withheld: Tensor) -> Tensor:
        """``(B, 1, D)``"""
        actions = whole_trajectory(actions, real, self.count)
        if self.config.conditioning == "video" and self.each is not None:
            actions = self.each(actions)
        assert self.trajectory is not None
        return self._known(self.trajectory(actions.flatten(1)), ~withheld)[:, None]

    def _known(self, embedded: Tensor, known: Tensor) -> Tensor:
        return torch.where(known[..., None], embedded, self.unknown.to(embedded.dtype))
