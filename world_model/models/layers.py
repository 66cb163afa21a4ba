"""Layers that several model forms share: embeddings, attention, adaLN and FiLM blocks."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from einops import rearrange
from torch import Tensor, nn


def sinusoid(values: Tensor, dim: int, max_period: float = 10_000.0) -> Tensor:
    """Sinusoidal features ``(..., dim)`` of ``(...)`` values, cosine half first (DiT's timestep embedding)."""
    half = dim // 2
    rates = torch.exp(-math.log(max_period) * torch.arange(half, device=values.device) / half)
    angles = values.float()[..., None] * rates
    return torch.cat([angles.cos(), angles.sin()], dim=-1)


def fourier(values: Tensor, octaves: int) -> Tensor:
    """``(..., N)`` in [-1, 1] to ``(..., N (1 + 2 octaves))``: the values and sin, cos of pi 2^k times them."""
    if octaves == 0:
        return values
    rates = math.pi * 2.0 ** torch.arange(octaves, device=values.device)
    angles = values[..., None] * rates  # (..., N, octaves)
    return torch.cat([values, angles.sin().flatten(-2), angles.cos().flatten(-2)], dim=-1)


def cell_centres(count: int, device: torch.device | str = "cpu") -> Tensor:
    """Places ``(count,)`` of the middles of equal cells between -1 and 1."""
    return (torch.arange(count, device=device) + 0.5) / count * 2 - 1


def sincos_1d(length: int, dim: int) -> Tensor:
    """Fixed positions ``(length, dim)``, sine half first."""
    rates = 1.0 / 10_000 ** (torch.arange(dim // 2, dtype=torch.float64) / (dim / 2))
    angles = torch.arange(length, dtype=torch.float64)[:, None] * rates
    return torch.cat([angles.sin(), angles.cos()], dim=1).float()


def sincos_2d(height: int, width: int, dim: int) -> Tensor:
    """Fixed positions ``(height * width, dim)`` of a grid: the column half, then the row half."""
    columns = sincos_1d(width, dim // 2).repeat(height, 1)  # (H*W, D/2)
    rows = sincos_1d(height, dim // 2).repeat_interleave(width, dim=0)
    return torch.cat([columns, rows], dim=1)


def modulate(x: Tensor, shift: Tensor, scale: Tensor) -> Tensor:
    return x * (1 + scale) + shift


def attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    """Attention over ``(..., heads, L, d)``; ``mask`` is True where a query may look.

    On a CPU plain matmul-softmax is faster than fused attention for the short sequences of the nano models,
    several times so backward; elsewhere the fused kernel is used.
    """
    if q.device.type != "cpu":
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    scores = (q * q.shape[-1] ** -0.5) @ k.transpose(-2, -1)
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    return scores.softmax(dim=-1) @ v


def zero_linear(inputs: int, outputs: int) -> nn.Linear:
    """A linear layer that starts at zero."""
    layer = nn.Linear(inputs, outputs)
    nn.init.zeros_(layer.weight)
    nn.init.zeros_(layer.bias)
    return layer


class Mlp(nn.Module):
    """Linear, tanh-GELU, Linear."""

    def __init__(self, dim: int, hidden: int, out: int | None = None) -> None:
        super().__init__()
        self.fc1 = nn.Linear(dim, hidden)
        self.fc2 = nn.Linear(hidden, out or dim)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc2(F.gelu(self.fc1(x), approximate="tanh"))


class TimestepEmbedding(nn.Module):
    """Noise level in [0, 1] to ``(..., D)``: 256-wide sinusoid of 1000 s, Linear, SiLU, Linear."""

    def __init__(self, dim: int, frequencies: int = 256) -> None:
        super().__init__()
        self.frequencies = frequencies
        first, second = nn.Linear(frequencies, dim), nn.Linear(dim, dim)
        self.mlp = nn.Sequential(first, nn.SiLU(), second)
        for layer in (first, second):
            nn.init.normal_(layer.weight, std=0.02)

    def forward(self, noise_level: Tensor) -> Tensor:
        return self.mlp(sinusoid(noise_level * 1000, self.frequencies))


class SelfAttention(nn.Module):
    """Multi-head attention over the second-to-last axis, with keys and values of a context in front."""

    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)

    def forward(
        self, x: Tensor, mask: Tensor | None = None, past: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """``x`` ``(..., L, D)`` to the same, and its keys and values ``(..., heads, L, d)``."""
        q, k, v = rearrange(self.qkv(x), "... l (three h d) -> three ... h l d", three=3, h=self.heads)
        own = (k, v)
        if past is not None:
            k, v = torch.cat([past[0], k], dim=-2), torch.cat([past[1], v], dim=-2)
        out = rearrange(attend(q, k, v, mask), "... h l d -> ... l (h d)")
        return self.proj(out), own


class AdaLNBlock(nn.Module):
    """Transformer block with zero-gated adaptive layer norm (DiT's adaLN-Zero)."""

    def __init__(self, dim: int, heads: int, mlp_ratio: float = 4.0) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(dim, elementwise_affine=False, eps=1e-6)
        self.attn = SelfAttention(dim, heads)
        self.norm2 = nn.LayerNorm(dim, elementwise_affine=False, eps=1e-6)
        self.mlp = Mlp(dim, int(dim * mlp_ratio))
        self.modulation = nn.Sequential(nn.SiLU(), zero_linear(dim, 6 * dim))

    def forward(
        self,
        x: Tensor,
        condition: Tensor,
        mask: Tensor | None = None,
        past: tuple[Tensor, Tensor] | None = None,
        added: Tensor | None = None,
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """``x`` ``(..., L, D)``; ``condition`` broadcasts against it, e.g. ``(..., 1, D)``.

        ``added`` ``(..., L, D)`` joins the tokens between attention and the MLP.
        """
        shift1, scale1, gate1, shift2, scale2, gate2 = self.modulation(condition).chunk(6, dim=-1)
        attended, own = self.attn(modulate(self.norm1(x), shift1, scale1), mask, past)
        x = x + gate1 * attended
        if added is not None:
            x = x + added
        return x + gate2 * self.mlp(modulate(self.norm2(x), shift2, scale2)), own


class ResBlock(nn.Module):
    """Two 3 x 3 convolutions, the first one dilated, added to their input ``(B, C, U, V)``."""

    def __init__(self, width: int, dilation: int) -> None:
        super().__init__()
        self.norm = nn.GroupNorm(8, width)
        self.first = nn.Conv2d(width, width, 3, padding=dilation, dilation=dilation)
        self.second = nn.Conv2d(width, width, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        change: Tensor = self.second(F.silu(self.first(F.silu(self.norm(x)))))
        return x + change


class FilmResBlock(nn.Module):
    """Two 3 x 3 convolutions with group norm; a condition scales and shifts the features between them."""

    def __init__(self, channels: int, condition_dim: int, dilation: int = 1) -> None:
        super().__init__()
        groups = max(1, channels // 16)
        self.norm1 = nn.GroupNorm(groups, channels)
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=dilation, dilation=dilation)
        self.film = nn.Linear(condition_dim, 2 * channels)
        self.norm2 = nn.GroupNorm(groups, channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1)
        nn.init.zeros_(self.conv2.weight)

    def forward(self, x: Tensor, condition: Tensor) -> Tensor:
        """``x`` ``(B, C, U, V)``, ``condition`` ``(B, D)``."""
        shift, scale = self.film(condition)[:, :, None, None].chunk(2, dim=1)
        y = self.conv1(F.silu(self.norm1(x)))
        y = self.conv2(F.silu(modulate(self.norm2(y), shift, scale)))
        return x + y


class SpatialAttention(nn.Module):
    """Pre-norm self-attention over all positions of a small feature map."""

    def __init__(self, channels: int, heads: int) -> None:
        super().__init__()
        self.norm = nn.GroupNorm(max(1, channels // 16), channels)
        self.attn = SelfAttention(channels, heads)
        nn.init.zeros_(self.attn.proj.weight)

    def forward(self, x: Tensor) -> Tensor:
        tokens = rearrange(self.norm(x), "b c u v -> b (u v) c")
        out, _ = self.attn(tokens)
        return x + rearrange(out, "b (u v) c -> b c u v", u=x.shape[2])


class ConditionMap(nn.Module):
    """A feature map drawn from a condition vector: an MLP over (position, condition) at every cell.

    Lets a network place things ("the agent is here, its target there") that FiLM can only switch on or off.
    """

    def __init__(self, condition_dim: int, hidden: int, channels: int, grid: tuple[int, int], octaves: int = 3) -> None:
        super().__init__()
        rows = torch.linspace(-1, 1, grid[0])
        columns = torch.linspace(-1, 1, grid[1])
        coordinates = torch.stack(torch.meshgrid(rows, columns, indexing="ij"), dim=-1)  # (U, V, 2)
        features = fourier(coordinates, octaves)  # (U, V, F)
        self.register_buffer("positions", features.permute(2, 0, 1)[None], persistent=False)  # (1, F, U, V)
        self.from_position = nn.Conv2d(features.shape[-1], hidden, 1)
        self.from_condition = nn.Linear(condition_dim, 2 * hidden)
        self.middle = nn.Conv2d(hidden, hidden, 1)
        self.out = nn.Conv2d(hidden, channels, 1)

    def forward(self, condition: Tensor) -> Tensor:
        """``(B, D)`` to ``(B, channels, U, V)``."""
        shift, scale = self.from_condition(condition)[:, :, None, None].chunk(2, dim=1)
        y = F.gelu(modulate(self.from_position(self.positions), shift, scale), approximate="tanh")
        return self.out(F.gelu(self.middle(y), approximate="tanh"))


class PointMaps(nn.Module):
    """Feature maps that say, at every cell, where K points of the picture are from there.

    Offsets (coarse, and fine ones that saturate after two cells) and two bumps for each point: enough for a few
    convolutions to draw a thing at a place below a cell's size.
    """

    places: Tensor

    def __init__(self, points: int, channels: int, grid: tuple[int, int]) -> None:
        super().__init__()
        y, x = torch.meshgrid(*(cell_centres(n) for n in grid), indexing="ij")
        self.register_buffer("places", torch.stack([x, y]), persistent=False)  # (2, U, V)
        self.cell = 2 / max(grid)
        self.net = nn.Sequential(nn.Conv2d(6 * points, channels, 1), nn.SiLU(), nn.Conv2d(channels, channels, 1))

    def forward(self, points: Tensor) -> Tensor:
        """``(B, 2 K)``, x and y of each point from -1 to 1 from edge to edge, to ``(B, channels, U, V)``."""
        away = self.places - points.reshape(len(points), -1, 2, 1, 1)  # (B, K, 2, U, V)
        square = (away / self.cell).square().sum(dim=2)  # (B, K, U, V), in cells
        maps = [away.flatten(1, 2), (away / (2 * self.cell)).clamp(-1, 1).flatten(1, 2)]
        maps += [torch.exp(-square / 2), torch.exp(-square / 12)]
        return self.net(torch.cat(maps, dim=1))
