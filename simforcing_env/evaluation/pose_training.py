"""Makes the pose reader: scenes drawn by the true renderer, some of them spoiled as generated frames are."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from simforcing_env.evaluation.pose_reader import BLOCK_POINTS, PoseReader, PoseReaderConfig, rotate
from simforcing_env.evaluation.reader_config import ReaderTraining
from teachers.pusht.physics import STOCK_GOAL, Pose, PushTState
from teachers.pusht.scoring import outline
from teachers.pusht.teacher import PushTConfig, PushTTeacher

NEAR_SPREADS = (3.0, 10.0, 30.0, 60.0)  # px; of block poses about the goal
LEVER = 60.0  # px per radian
WALL = 3.0  # px from the picture's edge that every corner of a drawn block keeps


class Scenes(NamedTuple):
    """Drawn frames and what stands in them."""

    frames: NDArray[np.uint8]  # (N, H, W, 3)
    truth: NDArray[np.float64]  # (N, 5) pusher x, y, block x, y in px, angle in radians


def draw_scenes(
    count: int,
    generator: np.random.Generator,
    config: ReaderTraining,
    size: int = 64,
    progress: Callable[[int], None] = lambda done: None,
) -> Scenes:
    """``count`` frames of random scenes, goal and overlap included."""
    stock = PushTTeacher(PushTConfig(size=size))
    frames, truth = np.empty((count, size, size, 3), np.uint8), np.empty((count, 5))
    for i in range(count):
        teacher, goal = stock, STOCK_GOAL
        if generator.random() < config.other_goal:
            goal = random_block(generator)
            teacher = PushTTeacher(PushTConfig(size=size, goal=goal))
        block = random_block(generator, goal if generator.random() < config.near else None)
        agent = _random_agent(generator, block, generator.random() < config.touching)
        truth[i] = (*agent, *block)
        if generator.random() < config.smeared:
            spread = generator.uniform(0.0, 8.0)
            step = generator.normal(size=3) * (spread, spread, spread / LEVER)
            shifts = [-step, np.zeros(3), step]
        else:
            shifts = [np.zeros(3)]
        drawn = []
        for shift in shifts:
            x, y, angle = np.array(block) + shift
            state = PushTState(float(agent[0]), float(agent[1]), float(x), float(y), float(angle))
            drawn.append(teacher.reset_to_state(state).frames["top"])
        frames[i] = np.round(np.mean(drawn, axis=0))
        progress(i + 1)
    return Scenes(frames, truth)


def random_block(generator: np.random.Generator, goal: Pose | None = None) -> Pose:
    """A block inside the picture: anywhere, or about ``goal``."""
    while True:
        if goal is None:
            pose = Pose(*generator.uniform((0.0, 0.0, -math.pi), (512.0, 512.0, math.pi)))
        else:
            spread = generator.choice(NEAR_SPREADS)
            pose = Pose(*(np.array(goal) + generator.normal(size=3) * (spread, spread, spread / LEVER)))
        corners = outline(pose)
        if corners.min() > WALL and corners.max() < 512.0 - WALL:
            return pose


def _random_agent(generator: np.random.Generator, block: Pose, touching: bool) -> NDArray[np.float64]:
    if not touching:
        return generator.uniform(10.0, 502.0, 2)
    place = generator.uniform((-90.0, -40.0), (90.0, 150.0))[None]
    return np.clip(rotate(place, np.array([block.angle]))[0, 0] + block[:2], 8.0, 504.0)


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
    start, part, step = time.monotonic(), 0.0, 0
    while part < 1:
        warm = min(1.0, (step + 1) / 100)
        optimizer.param_groups[0]["lr"] = config.learning_rate * warm * (0.5 + 0.5 * math.cos(math.pi * part)) + 1e-5
        rows = torch.randint(len(frames), (config.batch,), generator=generator)
        with torch.autocast("cpu", torch.bfloat16):
            points = reader(spoil(frames[rows], generator))
        loss = functional.smooth_l1_loss(points / 8, wanted[rows] / 8)  # in pixels of the frame
        optimizer.zero_grad()
        torch.autograd.backward(loss)
        nn.utils.clip_grad_norm_(reader.parameters(), 1.0)
        optimizer.step()
        step += 1
        part = min(1.0, max((time.monotonic() - start) / (60 * config.minutes), step / (config.steps or math.inf)))
        progress(part, loss.item())
    return reader.eval().requires_grad_(False)


def spoil(frames: Tensor, generator: torch.Generator) -> Tensor:
    """Frames ``(N, H, W, 3)`` uint8 as float grey levels, often blurred (a batch alike) or noised (each its own)."""
    x = frames.float()
    blurred, noised = (torch.rand(2, generator=generator) < torch.tensor([0.4, 0.6])).tolist()
    if blurred:
        sigma = 0.3 + 0.9 * torch.rand(1, generator=generator)
        kernel = torch.exp(-0.5 * (torch.arange(-3, 4) / sigma).square())
        kernel = (kernel / kernel.sum()).expand(3, 1, 7)
        planes = functional.pad(x.permute(0, 3, 1, 2), (3, 3, 3, 3), mode="replicate")
        across = functional.conv2d(planes, kernel[:, :, None], groups=3)
        x = functional.conv2d(across, kernel[..., None], groups=3).permute(0, 2, 3, 1)
    if noised:
        strength = 10 * torch.rand(len(x), 1, 1, 1, generator=generator).square()  # grey levels
        x = x + torch.randn(x.shape, generator=generator) * strength
    return x


def initialise(module: nn.Module, generator: torch.Generator) -> None:
    """Draw every weight of two or more axes from ``generator`` (variance 1 / fan-in) and set biases to zero."""
    for layer in module.modules():
        if isinstance(layer, (nn.Conv2d, nn.Linear)):
            fan_in = layer.weight[0].numel()
            nn.init.normal_(layer.weight, std=fan_in**-0.5, generator=generator)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)


def _points(truth: NDArray[np.float64]) -> NDArray[np.float64]:
    """Truth ``(N, 5)`` to the points ``(N, 5, 2)`` that the reader marks."""
    block = rotate(np.array(BLOCK_POINTS), truth[:, 4]) + truth[:, None, 2:4]
    return np.concatenate([truth[:, None, :2], block], 1)
