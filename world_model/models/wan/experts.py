"""The video expert, diffusers' network with blocks of ours, and the action expert beside it (specification 3.1)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from einops import rearrange
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from world_model.extras import require
from world_model.models.wan.block import JointBlock, KeysValues, Words, line_rotation
from world_model.models.wan.config import WanConfig

_WAN = "diffusers.models.transformers.transformer_wan"
Added = Callable[[int], Tensor | None]


def build_transformer(config: WanConfig) -> Any:
    """diffusers' ``WanTransformer3DModel`` of the configuration, with random weights."""
    return require(_WAN, "diffusers").WanTransformer3DModel(**config.whole)


class VideoExpert(nn.Module):
    """Parameters lie under ``net`` by the names of diffusers."""

    def __init__(self, config: WanConfig) -> None:
        super().__init__()
        self.config = config
        self.net = build_transformer(config)
        self.net.blocks = nn.ModuleList(JointBlock(block) for block in self.net.blocks)

    def words(self, text: Tensor, real: Tensor) -> Words:
        """Text ``(B, L, text_dim)`` as this expert reads it."""
        return Words(self.net.condition_embedder.text_embedder(text), real)

    def forward(
        self,
        frames: Tensor,
        times: Tensor,
        words: Words,
        actions: list[KeysValues],
        alone: int,
        added: Added | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Velocity ``(B, F, C, U, V)`` of latent ``frames`` at ``times`` ``(B, F)``, and features ``(B, F, D)``.

        Args:
            actions: keys and values for each block, none of them for no actions.
            alone: known frames, which see each other and the actions only.
            added: what joins the tokens ``(B, F, P, D)`` of a block.
        """
        net, count, patch = self.net, frames.shape[1], self.config.patch
        video = frames.transpose(1, 2)  # (B, C, F, U, V)
        rotation = net.rope(video)
        x = net.patch_embedding(video)
        rows, columns = x.shape[-2:]
        x = rearrange(x, "b d f u v -> b f (u v) d")
        level, modulation = embed_times(net.condition_embedder, times, x.dtype)
        for number, block in enumerate(net.blocks):
            outside = actions[number] if actions else None
            more = None if added is None else added(number)
            if self.config.checkpointing and torch.is_grad_enabled():
                x, _ = checkpoint(block, x, modulation, words, rotation, outside, alone, more, use_reentrant=False)
            else:
                x, _ = block(x, modulation, words, rotation, outside, alone, more)
        shift, scale = (net.scale_shift_table + level[:, :, None].float()).chunk(2, dim=2)  # (B, F, 1, D)
        x = (net.norm_out(x.float()) * (1 + scale) + shift).type_as(x)
        made = rearrange(
            net.proj_out(x),
            "b f (u v) (p q c) -> b f c (u p) (v q)",
            f=count,
            u=rows,
            v=columns,
            p=patch,
            q=patch,
        )
        return made, x.mean(dim=2)


class ActionExpert(nn.Module):
    """Reads clean actions, which see only each other, and gives every layer's keys and values of them.

    What its last block does after attention reaches nothing; these weights are there, as published, but not trained.
    """

    def __init__(self, config: WanConfig) -> None:
        super().__init__()
        wan, whole, width = require(_WAN, "diffusers"), config.whole, config.action_width
        heads, head_dim = whole["num_attention_heads"], whole["attention_head_dim"]
        self.head_dim, self.checkpointing = head_dim, config.checkpointing
        self.action_encoder = nn.Linear(config.actions_per_frame * config.action_dim, width)
        self.condition_embedder = wan.WanTimeTextImageEmbedding(
            dim=width, time_freq_dim=whole["freq_dim"], time_proj_dim=6 * width, text_embed_dim=whole["text_dim"]
        )

        def block() -> JointBlock:
            made = wan.WanTransformerBlock(width, config.action_ffn, 1, whole["qk_norm"], whole["cross_attn_norm"])
            sizes = {"dim": width, "heads": heads, "dim_head": head_dim, "eps": whole["eps"]}
            made.attn1 = wan.WanAttention(**sizes)
            made.attn2 = wan.WanAttention(**sizes, cross_attention_dim_head=head_dim)
            return JointBlock(made)

        self.blocks = nn.ModuleList(block() for _ in range(config.depth))
        end: Any = self.blocks[-1]
        used = {*end.attn1.to_k.parameters(), *end.attn1.to_v.parameters(), *end.attn1.norm_k.parameters()}
        for parameter in {*end.parameters()} - used - {end.scale_shift_table}:
            parameter.requires_grad_(False)

    def forward(self, actions: Tensor, text: Tensor, real: Tensor) -> list[KeysValues]:
        """Of ``actions`` ``(B, N, a A)`` under ``text`` ``(B, L, text_dim)``, a pair for each block."""
        embedder = self.condition_embedder
        x = self.action_encoder(actions)[:, None]  # (B, 1, N, D)
        words = Words(embedder.text_embedder(text), real)
        rotation = line_rotation(actions.shape[1], self.head_dim, actions.device)
        _, modulation = embed_times(embedder, torch.zeros_like(actions[:, :1, 0]), x.dtype)
        made = []
        for block in self.blocks[:-1]:
            if self.checkpointing and torch.is_grad_enabled():
                x, own = checkpoint(block, x, modulation, words, rotation, use_reentrant=False)
            else:
                x, own = block(x, modulation, words, rotation)
            made.append(own)
        return [*made, self.blocks[-1](x, modulation, words, rotation, last=True)[1]]


def embed_times(embedder: Any, times: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Of ``times`` ``(B, F)`` in [0, 1000]: embeddings ``(B, F, D)`` and block modulations ``(B, F, 6, D)``."""
    waves = embedder.timesteps_proj(times.flatten()).reshape(*times.shape, -1)
    level = embedder.time_embedder(waves.to(embedder.time_embedder.linear_1.weight.dtype)).to(dtype)
    return level, embedder.time_proj(embedder.act_fn(level)).reshape(*times.shape, 6, -1)
