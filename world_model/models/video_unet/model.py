"""A U-Net over frames with attention along time, after the published baselines."""

from __future__ import annotations

from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from world_model.errors import InputError
from world_model.models.layers import Mlp
from world_model.models.video_diffusion import Answer, VideoDiffusion, whole_trajectory
from world_model.models.video_unet.config import VideoUNetConfig
from world_model.models.video_unet.layers import (
    BUCKETS,
    Double,
    FullAttention,
    Halve,
    LinearAttention,
    TimedBlock,
    relative_buckets,
    time_features,
)


class Level(nn.Module):
    """One resolution, on the way down or up: two blocks, attention within frames and along time."""

    def __init__(self, config: VideoUNetConfig, inputs: int, outputs: int, condition: int) -> None:
        super().__init__()
        self.block1 = TimedBlock(inputs, outputs, condition, config.groups)
        self.block2 = TimedBlock(outputs, outputs, condition, config.groups)
        self.spatial = LinearAttention(outputs, config.heads, config.head_dim)
        self.temporal = FullAttention(outputs, config.heads, config.head_dim, temporal=True)

    def forward(self, x: Tensor, frames: int, condition: Tensor, bias: Tensor) -> Tensor:
        x = self.block2(self.block1(x, frames, condition), frames, condition)
        return self.temporal(self.spatial(x), frames, bias)


class VideoUNet(VideoDiffusion):
    """`WorldModel`; one noise level for a clip, that of its last frame, and one embedding of its actions."""

    def __init__(self, config: VideoUNetConfig) -> None:
        widths = [config.dim, *(config.dim * m for m in config.mults)]
        super().__init__(config, widths[-1])
        dim, count, heads, head_dim = config.dim, config.frames - 1, config.heads, config.head_dim
        condition = 4 * dim + config.condition_dim
        inputs = count * config.action_inputs
        self.trajectory = Mlp(inputs, 4 * config.condition_dim, config.condition_dim)
        self.unknown = nn.Parameter(torch.randn(config.condition_dim))
        self.time = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, 4 * dim))
        self.distance = nn.Embedding(BUCKETS, heads)
        self.enter = nn.Conv2d(config.latent_channels, dim, 7, padding=3)
        self.enter_time = FullAttention(dim, heads, head_dim, temporal=True)
        pairs = list(pairwise(widths))
        self.down = nn.ModuleList(Level(config, a, b, condition) for a, b in pairs)
        self.shrink = nn.ModuleList(Halve(b, k < len(pairs) - 2) for k, (_, b) in enumerate(pairs[:-1]))
        deep = widths[-1]
        self.middle1 = TimedBlock(deep, deep, condition, config.groups)
        self.middle_space = FullAttention(deep, heads, head_dim, temporal=False)
        self.middle_time = FullAttention(deep, heads, head_dim, temporal=True)
        self.middle2 = TimedBlock(deep, deep, condition, config.groups)
        self.up = nn.ModuleList(Level(config, 2 * b, a, condition) for a, b in reversed(pairs))
        self.grow = nn.ModuleList(Double(a) for a, _ in reversed(pairs[1:]))
        self.leave = TimedBlock(2 * dim, dim, 0, config.groups)
        self.out = nn.Conv2d(dim, config.latent_channels, 1)

    def embed(self, actions: Tensor, real: Tensor, withheld: Tensor) -> Tensor:
        """``(B, D)``"""
        embedded = self.trajectory(whole_trajectory(actions, real, self.config.frames - 1).flatten(1))
        return torch.where(withheld[:, None], self.unknown.to(embedded.dtype), embedded)

    def answer(self, frames: Tensor, times: Tensor, told: Tensor) -> Answer:
        batch, count = frames.shape[:2]
        half = 2 ** len(self.shrink)
        if min(frames.shape[-2:]) < half or any(side % 4 for side in frames.shape[-2:]):
            raise InputError(
                f"frames have a grid of {tuple(frames.shape[-2:])} but this U-Net takes multiples of 4 of at least "
                f"{half}; pad or resize them"
            )
        time = self.time(time_features(times[:, -1], self.config.dim))
        condition = F.silu(torch.cat([time, told], dim=-1))  # (B, D)
        bias = self.distance(relative_buckets(count).to(frames.device)).movedim(-1, 0)  # (heads, F, F)
        x = self.enter_time(self.enter(frames.flatten(0, 1)), count, bias)
        first, kept = x, []
        for k, level in enumerate(self.down):
            x = level(x, count, condition, bias)
            kept.append(x)
            x = self.shrink[k](x) if k < len(self.shrink) else x
        x = self.middle_time(self.middle_space(self.middle1(x, count, condition), count), count, bias)
        x = self.middle2(x, count, condition)
        features = x.mean(dim=(2, 3)).unflatten(0, (batch, count))
        for k, level in enumerate(self.up):
            x = level(torch.cat([x, kept.pop()], dim=1), count, condition, bias)
            x = self.grow[k](x, kept[-1].shape[-2:]) if kept else x
        x = self.out(self.leave(torch.cat([x, first], dim=1), count))
        return Answer(x.unflatten(0, (batch, count)), features)
