"""Makes the pose reader from drawn scenes, some of them spoiled as generated frames are."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional

from simforcing_env.evaluation.pose_reader import BLOCK_POINTS, PoseReader, PoseReaderConfig, rotate
from simforcing_env.evaluation.reader_config import ReaderTraining
from simforcing_env.evaluation.scenes import Scenes
from world_model.data.spoil import spoil
from world_model.initial import initialise
from world_model.runtime import has_bfloat16


def train_reader(
    scenes: Scenes,
    config: ReaderTraining,
    generator: torch.Generator,
    shape: PoseReaderConfig | None = None,
    progress: Callable[[float, float], None] = lambda part, loss: None,
) -> PoseReader:
    """Fit a reader to scenes for the budget; ``progress`` is told the part that is gone and the loss."""
    reader = PoseReader(shape or PoseReaderConfig())
    initialise(reader, generator)
    reader.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    frames, wanted = torch.from_numpy(scenes.frames), torch.from_numpy(_points(scenes.truth)).float()
    optimizer = torch.optim.AdamW(reader.parameters(), betas=(0.9, 0.98), weight_decay=1e-4)
    start, part, step = time.process_time(), 0.0, 0
    while part < 1:
        warm = min(1.0, (step + 1) / 100)
        optimizer.param_groups[0]["lr"] = config.learning_rate * warm * (0.5 + 0.5 * math.cos(math.pi * part)) + 1e-5
        rows = torch.randint(len(frames), (config.batch,), generator=generator)
        with torch.autocast("cpu", torch.bfloat16, enabled=has_bfloat16("cpu")):
            points = reader(spoil(frames[rows], generator))
        error = (points - wanted[rows]) / 8  # in pixels of the frame
        loss = functional.smooth_l1_loss(error, torch.zeros_like(error), beta=0.2)
        optimizer.zero_grad()
        torch.autograd.backward(loss)
        nn.utils.clip_grad_norm_(reader.parameters(), 1.0)
        optimizer.step()
        step += 1
        part = min(1.0, max((time.process_time() - start) / (60 * config.minutes), step / (config.steps or math.inf)))
        progress(part, loss.item())
    return reader.eval().requires_grad_(False)


def _points(truth: NDArray[np.float64]) -> NDArray[np.float64]:
    """Truth ``(N, 5)`` to the points ``(N, 5, 2)`` that the reader marks."""
    block = rotate(np.array(BLOCK_POINTS), truth[:, 4]) + truth[:, None, 2:4]
    return np.concatenate([truth[:, None, :2], block], 1)
