"""A world for trainer tests: a bright square that jumps to where it is told, 16 x 16 pixels."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.world_model.tiny import tiny_contract
from world_model.codecs import PcaConfig, fit_pca
from world_model.data.episode import Episode
from world_model.diffusion import EulerConfig, EulerSampler
from world_model.models import MODELS
from world_model.registry import build
from world_model.training.config import OptimConfig, TrainConfig
from world_model.training.state_encoding import PlanarBody, StateEncoding
from world_model.training.trainer import Trainer
from world_model.training.windows import WindowConfig, Windows

MODEL = {
    "kind": "key_points",
    "step": {"action_dim": 2, "proprio_dim": 2, "history": 2},
    "latent_channels": 8,
    "grid": (4, 4),
    "unet": {"width": 16, "deep_width": 32, "deep_blocks": 1},
    "condition_dim": 32,
    "forecast": {"state_dim": 2, "hidden": 32},
}
STATE = StateEncoding(bodies=(PlanarBody(0, 1, 2, ((0.0, 0.0),)),), low=0.0, high=100.0)


def episodes(count: int = 6, length: int = 24, seed: int = 0) -> list[Episode]:
    rng = np.random.default_rng(seed)
    return [episode(rng, length) for _ in range(count)]


def episode(rng: np.random.Generator, length: int) -> Episode:
    places = rng.uniform(20, 80, (length, 2)).astype(np.float32)
    frames = np.zeros((length, 16, 16, 3), np.uint8)
    for frame, (x, y) in zip(frames, places, strict=True):
        row, column = int(y / 100 * 12), int(x / 100 * 12)
        frame[row : row + 4, column : column + 4] = 255
    return Episode(frames=frames, proprio=places, actions=places[1:, None], state=np.pad(places, ((0, 0), (0, 1))))


def trainer(out: Path, export: object = None, **changes: object) -> Trainer:
    import torch

    contract = tiny_contract()
    config = TrainConfig(
        **{
            "state": STATE,
            "windows": WindowConfig(length=4, history=2),
            "batch": 4,
            "steps": 12,
            "sequences": 4,
            "sequence_length": 6,
            "overfit_steps": 0,
            "validation_clips": 4,
            "validation_frames": 4,
            "precision": "no",
            "optim": OptimConfig(warmup=2),
            **changes,
        }
    )
    windows = Windows(episodes(), contract, config.windows, STATE)
    held_out = windows.resized(WindowConfig(length=6, history=2))
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = build(MODELS, MODEL, "test")
    codec = fit_pca(windows.frames, PcaConfig(patch=4, channels=8))
    sampler = EulerSampler(EulerConfig(1))
    return Trainer(config, model, codec, contract, windows, held_out, sampler, out, export, "cpu")  # type: ignore[arg-type]
