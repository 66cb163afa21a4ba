"""The published network's operations written out one by one, under the published names: what ours is held against.

Attention multiplies out its scores, every embedding is repeated for each frame and place, and blocks are fed copies
in which their sequences lie together. Used to test the conversion of checkpoints and to time a training step.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from world_model.models.irasim.config import IrasimConfig
from world_model.models.layers import sincos_1d, sincos_2d, sinusoid


class _Mlp(nn.Module):
    def __init__(self, inputs: int, hidden: int, outputs: int) -> None:
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(inputs, hidden), nn.Linear(hidden, outputs)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc2(F.gelu(self.fc1(x), approximate="tanh"))


class _Attention(nn.Module):
    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv, self.proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)

    def forward(self, x: Tensor) -> Tensor:
        rows, length, dim = x.shape
        parts = self.qkv(x).reshape(rows, length, 3, self.heads, dim // self.heads).permute(2, 0, 3, 1, 4).contiguous()
        q, k, v = parts.unbind(0)
        weights = (q @ k.transpose(-2, -1) * (dim // self.heads) ** -0.5).softmax(dim=-1)
        return self.proj((weights @ v).transpose(1, 2).reshape(rows, length, dim))


class _Block(nn.Module):
    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.attn, self.mlp = _Attention(dim, heads), _Mlp(dim, 4 * dim, dim)
        self.adaLN_modulation = nn.Sequential(nn.SiLU(), nn.Linear(dim, 6 * dim))

    def forward(self, x: Tensor, condition: Tensor) -> Tensor:
        """``x`` ``(N, L, D)``, ``condition`` ``(N, D)``."""
        parts = self.adaLN_modulation(condition)[:, None].chunk(6, dim=-1)
        x = x + parts[2] * self.attn(_shifted(x, parts[0], parts[1]))
        return x + parts[5] * self.mlp(_shifted(x, parts[3], parts[4]))


class _Final(nn.Module):
    def __init__(self, dim: int, outputs: int) -> None:
        super().__init__()
        self.linear = nn.Linear(dim, outputs)
        self.adaLN_modulation = nn.Sequential(nn.SiLU(), nn.Linear(dim, 2 * dim))

    def forward(self, x: Tensor, condition: Tensor) -> Tensor:
        shift, scale = self.adaLN_modulation(condition)[:, None].chunk(2, dim=-1)
        return self.linear(_shifted(x, shift, scale))


class Restated(nn.Module):
    """The network of an `IrasimConfig` as the released code reads it, without readouts."""

    def __init__(self, config: IrasimConfig) -> None:
        super().__init__()
        self.config = config
        dim, patch, (rows, columns) = config.dim, config.patch, config.grid
        video, linear = config.conditioning == "video", config.embedding == "linear"
        self.x_embedder = nn.ModuleDict({"proj": nn.Conv2d(config.latent_channels, dim, patch, stride=patch)})
        timed = nn.Sequential(nn.Linear(256, dim), nn.SiLU(), nn.Linear(dim, dim))
        self.t_embedder = nn.ModuleDict({"mlp": timed})
        if linear:
            self.embed_arm_state = nn.Linear(config.action_dim, 4 * dim)
            self.embed_state: nn.Module = nn.Linear(4 * dim, dim)
            if video:
                self.mlp = _Mlp((config.frames - 1) * dim, (config.frames - 1) * dim, dim)
        else:
            self.embed_state = _Mlp(config.action_dim * (config.frames - 1 if video else 1), 4 * dim, dim)
        self.mask_emb_fn = nn.Embedding(1, dim)
        places = sincos_2d(rows // patch, columns // patch, dim)[None]
        self.pos_embed = nn.Parameter(places, requires_grad=False)
        self.temp_embed = nn.Parameter(sincos_1d(config.frames, dim)[None], requires_grad=False)
        self.blocks = nn.ModuleList(_Block(dim, config.heads) for _ in range(config.depth))
        self.final_layer = _Final(dim, patch**2 * config.latent_channels)

    def forward(self, x: Tensor, times: Tensor, actions: Tensor) -> Tensor:
        """``x`` ``(B, F, C, U, V)``, ``times`` ``(B,)`` in [0, 1000), ``actions`` ``(B, F - 1, A)``; returns noise."""
        batch, frames, channels, rows, columns = x.shape
        dim, patch = self.config.dim, self.config.patch
        x = self.x_embedder["proj"](x.reshape(-1, channels, rows, columns)).flatten(2).transpose(1, 2) + self.pos_embed
        places = x.shape[1]
        time = self.t_embedder["mlp"](sinusoid(times, 256))  # (B, D)
        by_frame, by_place = time.repeat_interleave(frames, 0), time.repeat_interleave(places, 0)
        embedded = self._embed(actions)
        if self.config.conditioning == "video":
            spatial = final = by_frame + embedded.repeat_interleave(frames, 0)
            temporal = by_place + embedded.repeat_interleave(places, 0)
        else:
            first = self.mask_emb_fn.weight[None].expand(batch, 1, dim)
            spatial = by_frame + torch.cat([first, embedded], dim=1).reshape(-1, dim)
            temporal, final = by_place, spatial if self.config.final_frame_ada else by_frame
        for number in range(0, self.config.depth, 2):
            x = self.blocks[number](x, spatial)
            x = x.reshape(batch, frames, places, dim).transpose(1, 2).reshape(-1, frames, dim)
            x = x + self.temp_embed[:, :frames] if number == 0 else x
            x = self.blocks[number + 1](x, temporal)
            x = x.reshape(batch, places, frames, dim).transpose(1, 2).reshape(-1, places, dim)
        x = self.final_layer(x, final).reshape(-1, rows // patch, columns // patch, patch, patch, channels)
        return x.permute(0, 5, 1, 3, 2, 4).reshape(batch, frames, channels, rows, columns)

    def _embed(self, actions: Tensor) -> Tensor:
        if self.config.embedding == "linear":
            each = self.embed_state(self.embed_arm_state(actions))
            return self.mlp(each.flatten(1)) if self.config.conditioning == "video" else each
        return self.embed_state(actions.flatten(1) if self.config.conditioning == "video" else actions)


def _shifted(x: Tensor, shift: Tensor, scale: Tensor) -> Tensor:
    return F.layer_norm(x, x.shape[-1:], eps=1e-6) * (1 + scale) + shift
