"""Recorded pairs of the moving square: white in the simulator, grey in reality."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.world_model.tiny import tiny_contract
from tests.world_model.training.moving_square import episodes
from world_model.data.episode import Episode
from world_model.data.lerobot.layout import DatasetSpec
from world_model.data.lerobot.shard import ShardWriter
from world_model.data.lerobot.writer import DatasetWriter
from world_model.data.pairs import Seeded, write_pairs

SPEC = DatasetSpec(tiny_contract(), state_names=("x", "y", "angle"))
_COMMON = (
    "train.batch=2",
    "train.precision=no",  # accelerate keeps one precision for a whole process, and the other tests have this one
    "train.validation_frames=3",
    "train.validation_clips=2",
    'codec={"kind": "pca", "patch": 4, "channels": 8}',
    "episodes=2",
)
SMALL = (
    *_COMMON,
    "train.windows.length=4",
    'train.model.video={"action_dim": 2, "proprio_dim": 2, "latent_channels": 8, "grid": [4, 4], "depth": 2, "dim": 16,'
    ' "heads": 2, "frames": 4, "objective": "flow", "known_clean": true}',
)
"""Overrides of ``pusht-simforcing-irasim``."""
SMALL_KEYS = (
    *_COMMON,
    "train.windows.length=5",
    "train.sequences=2",
    "train.sequence_length=5",
    'train.model.video={"step": {"action_dim": 2, "proprio_dim": 2}, "forecast": {"state_dim": 6, "hidden": 16}, '
    '"latent_channels": 8, "grid": [4, 4], "unet": {"width": 16, "deep_width": 16, "heads": 2}, "condition_dim": 16, '
    '"pairs": 2}',
)
"""Overrides of ``pusht-simforcing``."""


def record(folder: Path, shade: int, some: list[Episode], spec: DatasetSpec = SPEC) -> Path:
    (folder / ".shard").mkdir(parents=True)
    with ShardWriter(folder / ".shard", spec, 0, 0) as shard:
        for number, episode in enumerate(some):
            shard.add(replace(episode, frames=episode.frames // 255 * shade, start=f"seed-{number}"))
    writer = DatasetWriter(folder, spec)
    writer.commit(folder / ".shard")
    writer.write_stats()
    return folder


def record_pairs(folder: Path, count: int = 4, length: int = 8) -> Path:
    for side, shade in (("sim", 255), ("real", 128)):
        record(folder / side, shade, episodes(count, length))
    write_pairs(folder, "tiny", "real", [Seeded(0, {})] * count)
    return folder
