"""Options that every evaluation of a checkpoint has; light, so that ``--help`` is quick."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal


@dataclass(frozen=True)
class EvaluationOptions:
    """Which checkpoint, on what, and how it runs."""

    checkpoint: str = "pusht-nano"
    """Folder, packaged name or hub id."""
    dataset: Path | None = None
    """LeRobot v3.0 folder of held-out episodes with state and labels; without it the checkpoint's teacher records them
    on the spot."""
    split: Literal["validation", "test"] = "test"
    """Starts of the episodes that are recorded on the spot; tune on validation only."""
    history: int | None = None
    """Known frames; by default the checkpoint's."""
    sampler_steps: int | None = None
    """Steps of the sampler; by default the checkpoint's."""
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    """Of the denoiser; auto is what the environments use: bfloat16 where the device computes in it."""
    device: str = "auto"
    """auto, cpu or cuda."""
    seed: int = 0
    """Of windows, noise and swapped actions."""
    json: Path | None = None
    """Results file; tables as CSV go beside it and pictures into media/ beside it."""
    threads: int = 1
    """CPU threads."""
