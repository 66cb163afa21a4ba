"""A Wan of two blocks with random weights, and clips for it."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from world_model.interface import Clip
from world_model.models.wan import WanConfig, WanVideo

SETTINGS: dict[str, Any] = {
    "num_attention_heads": 2,
    "attention_head_dim": 12,
    "in_channels": 4,
    "out_channels": 4,
    "text_dim": 10,
    "freq_dim": 8,
    "ffn_dim": 32,
    "num_layers": 2,
}
NEW = 2  # latent frames
GRID = (4, 6)


def tiny(**fields: Any) -> WanConfig:
    values: dict[str, Any] = {
        "settings": SETTINGS,
        "latent_channels": 4,
        "action_dim": 2,
        "action_width": 16,
        "action_ffn": 20,
        "frames": 1 + 4 * NEW,
        "told_proprio": 2,
        "text_tokens": 3,
        "dropout": 0.0,
    }
    return WanConfig(**{**values, **fields})


def wan(**fields: Any) -> WanVideo:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = WanVideo(tiny(**fields))
        model.set_text(torch.randn(2, 10))
    return model.eval()


def clip(seed: int = 0, batch: int = 2, stride: int = 4, new: int = NEW) -> Clip:
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape: int) -> Tensor:
        return torch.randn(batch, *shape, generator=generator)

    frames = 1 + stride * new
    return Clip(
        draw(1 + new, 4, *GRID),
        draw(frames, 2).tanh(),
        draw(frames - 1, 1, 2).tanh(),
        torch.ones(batch, frames, dtype=torch.bool),
    )


def levels(value: float, batch: int = 2) -> Tensor:
    return torch.full((batch, NEW), value)
