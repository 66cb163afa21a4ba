"""Layers of the video U-Net. Frames of B clips lie in one axis, ``(B F, C, U, V)``, clip by clip.

Convolutions see one frame each; group norms and temporal attention see the frames of a clip together.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from einops import rearrange
from torch import Tensor, nn

from world_model.models.layers import modulate

BUCKETS, FARTHEST = 32, 32
"""Of relative positions in time; exact up to 7 frames, logarithmic beyond."""


def time_features(times: Tensor, dim: int) -> Tensor:
    """``(B,)`` to ``(B, dim)``, sine half first, the slowest wave having the period 2 pi 10,000."""
    half = dim // 2
    rates = torch.exp(-math.log(10_000) / (half - 1) * torch.arange(half, device=times.device))
    angles = times.float()[:, None] * rates
    return torch.cat([angles.sin(), angles.cos()], dim=-1)


def relative_buckets(length: int) -> Tensor:
    """``(length, length)`` bucket of frame i (query) looking at frame j (key)."""
    index = torch.arange(length)
    behind = index[:, None] - index[None]  # positive: the key is earlier
    side, exact = BUCKETS // 2, BUCKETS // 4
    near = behind.abs()
    far = exact + (torch.log(near.clamp(min=1) / exact) / math.log(FARTHEST / exact) * (side - exact)).long()
    return torch.where(near < exact, near, far.clamp(max=side - 1)) + side * (behind < 0)


def rotate(x: Tensor) -> Tensor:
    """Turn neighbouring pairs of ``(..., L, d)`` by their place in time (rotary embedding of at most 32 numbers)."""
    length, turned = x.shape[-2], min(32, x.shape[-1])
    rates = 10_000 ** (-torch.arange(0, turned, 2, device=x.device) / turned)
    angles = torch.arange(length, device=x.device)[:, None] * rates  # (L, d / 2)
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    first, second = x[..., :turned:2], x[..., 1:turned:2]
    pairs = torch.stack([first * cos - second * sin, second * cos + first * sin], dim=-1).flatten(-2)
    return torch.cat([pairs, x[..., turned:]], dim=-1)


class ClipNorm(nn.GroupNorm):
    """Group norm over the frames of a clip."""

    def forward(self, x: Tensor, frames: int) -> Tensor:  # type: ignore[override]  # needs to know the clips
        clips = rearrange(x, "(b f) c u v -> b c f u v", f=frames)
        return rearrange(super().forward(clips), "b c f u v -> (b f) c u v")


class ChannelNorm(nn.Module):
    """Layer norm over the channels of each place, without a bias."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(channels))

    def forward(self, x: Tensor) -> Tensor:
        normed = F.layer_norm(x.movedim(1, -1), self.gamma.shape, self.gamma, eps=1e-5)
        return normed.movedim(-1, 1)


class TimedBlock(nn.Module):
    """Two 3 x 3 convolutions and a way around them; the condition scales and shifts between the two."""

    def __init__(self, inputs: int, outputs: int, condition: int, groups: int) -> None:
        super().__init__()
        self.condition = nn.Linear(condition, 2 * outputs) if condition else None
        self.conv1 = nn.Conv2d(inputs, outputs, 3, padding=1)
        self.norm1 = ClipNorm(groups, outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1)
        self.norm2 = ClipNorm(groups, outputs)
        self.around = nn.Conv2d(inputs, outputs, 1) if inputs != outputs else nn.Identity()

    def forward(self, x: Tensor, frames: int, condition: Tensor | None = None) -> Tensor:
        """``condition`` ``(B, D)``, already through its SiLU."""
        y = self.norm1(self.conv1(x), frames)
        if self.condition is not None and condition is not None:
            scale, shift = self.condition(condition).repeat_interleave(frames, 0)[:, :, None, None].chunk(2, dim=1)
            y = modulate(y, shift, scale)
        y = F.silu(self.norm2(self.conv2(F.silu(y)), frames))
        return y + self.around(x)


class LinearAttention(nn.Module):
    """Attention within a frame whose cost grows with the number of places, not with its square; added to its input."""

    def __init__(self, channels: int, heads: int, head_dim: int) -> None:
        super().__init__()
        self.heads, self.scale = heads, head_dim**-0.5
        self.norm = ChannelNorm(channels)
        self.qkv = nn.Conv2d(channels, 3 * heads * head_dim, 1, bias=False)
        self.out = nn.Conv2d(heads * head_dim, channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        parts = rearrange(self.qkv(self.norm(x)), "n (three h d) u v -> three n h d (u v)", three=3, h=self.heads)
        q, k, v = parts.unbind(0)
        seen = k.softmax(dim=-1) @ v.transpose(-2, -1)  # (N, heads, d, d)
        y = seen.transpose(-2, -1) @ (q.softmax(dim=-2) * self.scale)
        return x + self.out(rearrange(y, "n h d (u v) -> n (h d) u v", u=x.shape[-2]))


class FullAttention(nn.Module):
    """Softmax attention, within a frame or (``temporal``) along time at each place; added to its input."""

    def __init__(self, channels: int, heads: int, head_dim: int, temporal: bool) -> None:
        super().__init__()
        self.heads, self.scale, self.temporal = heads, head_dim**-0.5, temporal
        self.norm = ChannelNorm(channels)
        self.qkv = nn.Linear(channels, 3 * heads * head_dim, bias=False)
        self.out = nn.Linear(heads * head_dim, channels, bias=False)

    def forward(self, x: Tensor, frames: int, bias: Tensor | None = None) -> Tensor:
        """``bias`` ``(heads, F, F)`` is added to temporal scores."""
        rows = x.shape[-2]
        form = "(b f) c u v -> b (u v) f c" if self.temporal else "(b f) c u v -> b f (u v) c"
        tokens = rearrange(self.norm(x), form, f=frames)
        q, k, v = rearrange(self.qkv(tokens), "b n l (three h d) -> three b n h l d", three=3, h=self.heads).unbind(0)
        q = q * self.scale
        if self.temporal:
            q, k = rotate(q), rotate(k)
        scores = q @ k.transpose(-2, -1)
        weights = (scores if bias is None else scores + bias).softmax(dim=-1)
        y = self.out(rearrange(weights @ v, "b n h l d -> b n l (h d)"))
        left, _, right = form.partition(" -> ")
        return x + rearrange(y, f"{right} -> {left}", f=frames, u=rows)


class Halve(nn.Conv2d):
    """4 x 4 convolution of stride 2; where its result would be odd and is ``halved_again``, one more row or column."""

    def __init__(self, channels: int, halved_again: bool) -> None:
        super().__init__(channels, channels, 4, stride=2)
        self.halved_again = halved_again

    def forward(self, x: Tensor) -> Tensor:
        pads = [2 if self.halved_again and side // 2 % 2 else 1 for side in x.shape[-2:]]
        return F.conv2d(x, self.weight, self.bias, stride=2, padding=pads)


class Double(nn.ConvTranspose2d):
    """The way back of `Halve`, to a given size."""

    def __init__(self, channels: int) -> None:
        super().__init__(channels, channels, 4, stride=2)

    def forward(self, x: Tensor, size: tuple[int, int]) -> Tensor:  # type: ignore[override]  # needs the size
        pads = [side + 1 - wanted // 2 for side, wanted in zip(x.shape[-2:], size, strict=True)]
        return F.conv_transpose2d(x, self.weight, self.bias, stride=2, padding=pads)
