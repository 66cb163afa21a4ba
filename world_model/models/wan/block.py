"""A block of Wan over its own tokens and keys and values of others, as diffusers' modules under diffusers' names."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

KeysValues = tuple[Tensor, Tensor]  # (B, H, N, d) each, keys after rotation
Rotation = tuple[Tensor, Tensor]  # cosines and sines, (1, N, 1, d), each pair of entries alike


class Words(NamedTuple):
    """Embedded text and proprio, and which of the tokens are there."""

    tokens: Tensor  # (B, L, D)
    real: Tensor  # (B, L) bool


class JointBlock(nn.Module):
    """Takes over the parts of a diffusers ``WanTransformerBlock``, whose parameter names stay as they are.

    The order is Wan's (specification 4): self-attention, cross-attention, feed-forward; what is ``added`` joins between
    the last two (specification 3.3). A class of its own, so that sharded training can wrap whole blocks.
    """

    def __init__(self, block: Any) -> None:
        super().__init__()
        self.norm1, self.attn1, self.norm2 = block.norm1, block.attn1, block.norm2
        self.attn2, self.norm3, self.ffn = block.attn2, block.norm3, block.ffn
        self.scale_shift_table = block.scale_shift_table

    def forward(
        self,
        x: Tensor,
        times: Tensor,
        words: Words,
        rotation: Rotation,
        outside: KeysValues | None = None,
        alone: int = 0,
        added: Tensor | None = None,
        last: bool = False,
    ) -> tuple[Tensor, KeysValues]:
        """One step of the tokens ``x`` ``(B, F, P, D)``, and their keys and values.

        Args:
            times: modulation of each frame ``(B, F, 6, D)``.
            outside: keys and values of further tokens, which all of x see.
            alone: frames at the front that see of x only each other.
            added: ``(B, F, P, D)``.
            last: only the keys and values count, and x is left as it is.
        """
        shift, scale, gate, late_shift, late_scale, late_gate = self._modulation(times)
        entered = _modulated(self.norm1, x, shift, scale).flatten(1, 2)
        key = self._heads(self.attn1.norm_k(self.attn1.to_k(entered)), rotation)
        own = key, self._heads(self.attn1.to_v(entered), None)
        if last:
            return x, own
        query = self._heads(self.attn1.norm_q(self.attn1.to_q(entered)), rotation)
        seen = own if outside is None else tuple(torch.cat(two, dim=2) for two in zip(own, outside, strict=True))
        first = alone * x.shape[2]
        if 0 < first < query.shape[2]:
            front = tuple(part[:, :, :first] for part in own)
            if outside is not None:
                front = tuple(torch.cat(two, dim=2) for two in zip(front, outside, strict=True))
            made = torch.cat([_attend(query[:, :, :first], front), _attend(query[:, :, first:], seen)], dim=1)
        else:
            made = _attend(query, seen)
        x = _joined(x, self.attn1.to_out[0](made).reshape(x.shape), gate)
        normed = self.norm2(x.float()).type_as(x).flatten(1, 2)
        x = x + self._told(normed, words).reshape(x.shape)
        if added is not None:
            x = x + added.type_as(x)
        return _joined(x, self.ffn(_modulated(self.norm3, x, late_shift, late_scale)), late_gate), own

    def _modulation(self, times: Tensor) -> tuple[Tensor, ...]:
        """Six of ``(B, F, 1, D)``."""
        return (self.scale_shift_table + times.float()).chunk(6, dim=2)

    def _told(self, x: Tensor, words: Words) -> Tensor:
        query = self._heads(self.attn2.norm_q(self.attn2.to_q(x)), None)
        key = self._heads(self.attn2.norm_k(self.attn2.to_k(words.tokens)), None)
        value = self._heads(self.attn2.to_v(words.tokens), None)
        return self.attn2.to_out[0](_attend(query, (key, value), words.real[:, None, None]))

    def _heads(self, x: Tensor, rotation: Rotation | None) -> Tensor:
        """``(B, N, H d)`` to ``(B, H, N, d)``, rotated where there is a rotation."""
        x = x.reshape(*x.shape[:2], self.attn1.heads, -1)
        return (x if rotation is None else rotate(x, rotation)).transpose(1, 2)


def rotate(x: Tensor, rotation: Rotation) -> Tensor:
    """``x`` ``(B, N, H, d)`` with each pair of entries turned by its angle."""
    cosines, sines = rotation
    even, odd = x.reshape(*x.shape[:-1], -1, 2).unbind(-1)
    c, s = cosines[..., 0::2], sines[..., 0::2]
    return torch.stack([even * c - odd * s, even * s + odd * c], dim=-1).flatten(-2).type_as(x)


def line_rotation(count: int, dim: int, device: torch.device) -> Rotation:
    """Rotation of ``count`` tokens in a row."""
    rates = 10_000.0 ** (-torch.arange(0, dim, 2, dtype=torch.float64) / dim)
    angles = torch.outer(torch.arange(count, dtype=torch.float64), rates).repeat_interleave(2, dim=1)
    return tuple(part.float()[None, :, None].to(device) for part in (angles.cos(), angles.sin()))  # type: ignore[return-value]


def _attend(query: Tensor, seen: tuple[Tensor, ...], mask: Tensor | None = None) -> Tensor:
    """``(B, N, H d)``"""
    made = F.scaled_dot_product_attention(query, seen[0].type_as(query), seen[1].type_as(query), attn_mask=mask)
    return made.transpose(1, 2).flatten(2)


def _modulated(norm: nn.Module, x: Tensor, shift: Tensor, scale: Tensor) -> Tensor:
    return (norm(x.float()) * (1 + scale) + shift).type_as(x)


def _joined(x: Tensor, more: Tensor, gate: Tensor) -> Tensor:
    return (x.float() + more.float() * gate).type_as(x)
