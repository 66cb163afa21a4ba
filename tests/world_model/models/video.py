"""Small video diffusion models for tests, with every weight drawn so that nothing is trivially equal."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from world_model.interface import Clip
from world_model.models import MODELS
from world_model.registry import build

SHARED = {"action_dim": 2, "proprio_dim": 2, "latent_channels": 4, "frames": 5, "history": 1}
IRASIM = {"kind": "irasim", **SHARED, "grid": (8, 12), "depth": 4, "dim": 32, "heads": 4}
FORMS: dict[str, dict[str, Any]] = {
    "frame": IRASIM,
    "frame_trajectory": {**IRASIM, "temporal": "trajectory", "final_frame_ada": True},
    "frame_linear": {**IRASIM, "embedding": "linear"},
    "video": {**IRASIM, "conditioning": "video"},
    "video_linear": {**IRASIM, "conditioning": "video", "embedding": "linear"},
    "unet": {"kind": "video_unet", **SHARED, "dim": 16, "mults": (1, 2), "heads": 2, "condition_dim": 16},
}


def make(form: str, **changes: Any) -> Any:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = build(MODELS, {**FORMS[form], **changes}, "test")
        for name, parameter in model.named_parameters():
            if parameter.ndim > 1:
                nn.init.normal_(parameter, std=0.7 / parameter[0].numel() ** 0.5)
            elif "unknown" in name:
                nn.init.normal_(parameter)
    return model


def clip(batch: int = 3, frames: int = 5, actions: int = 2, seed: int = 0) -> Clip:
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=generator)

    return Clip(
        draw(batch, frames, 4, 8, 12),
        draw(batch, frames, 2).tanh(),
        draw(batch, frames - 1, 1, actions).tanh(),
        torch.ones(batch, frames, dtype=torch.bool),
    )
