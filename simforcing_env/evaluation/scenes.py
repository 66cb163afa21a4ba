"""Random Push-T scenes drawn by the true renderer: near the goal, touching, overlapping, and smeared ones."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from simforcing_env.evaluation.scene_config import SceneMix
from teachers.pusht.contract import ARENA, pusht_contract
from teachers.pusht.physics import STOCK_GOAL, Pose, PushTState
from teachers.pusht.scoring import outline, score
from teachers.pusht.teacher import PushTConfig, PushTTeacher
from world_model.heads.examples import Examples

LEVER = 60.0  # px per radian
OUTSIDE = 20.0  # px that a corner may lie beyond the picture, as blocks that are squeezed through a wall do


class Scenes(NamedTuple):
    """Drawn frames and what stands in them."""

    frames: NDArray[np.uint8]  # (N, H, W, 3)
    truth: NDArray[np.float64]  # (N, 5) pusher x, y, block x, y in px, angle in radians


def draw_scenes(
    count: int,
    generator: np.random.Generator,
    mix: SceneMix,
    *,
    size: int = 64,
    goal: Pose = STOCK_GOAL,
    progress: Callable[[int], None] = lambda done: None,
) -> Scenes:
    """``count`` frames of random scenes with the goal at ``goal``, but for the mix's share of others."""
    stock = PushTTeacher(PushTConfig(size=size, goal=goal))
    frames, truth = np.empty((count, size, size, 3), np.uint8), np.empty((count, 5))
    for i in range(count):
        teacher = stock
        if generator.random() < mix.other_goal:
            teacher = PushTTeacher(PushTConfig(size=size, goal=random_block(generator)))
        near = generator.random() < mix.near
        block = random_block(generator, teacher.goal if near else None, mix.near_spreads)
        agent = _random_agent(generator, block, generator.random() < mix.touching)
        truth[i] = (*agent, *block)
        shifts = [np.zeros(3)]
        if generator.random() < mix.smeared:
            step = generator.normal(size=3) * (1.0, 1.0, 1.0 / LEVER) * generator.uniform(0.0, mix.smear)
            shifts = [-step, *shifts, step]
        drawn = [_draw(teacher, agent, np.array(block) + shift) for shift in shifts]
        frames[i] = np.round(np.mean(drawn, axis=0))
        progress(i + 1)
    return Scenes(frames, truth)


def random_block(
    generator: np.random.Generator, goal: Pose | None = None, spreads: tuple[float, ...] = (10.0,)
) -> Pose:
    """A block in the picture: anywhere, or about ``goal`` by one of ``spreads`` px."""
    while True:
        if goal is None:
            pose = Pose(*generator.uniform((0.0, 0.0, -math.pi), (ARENA, ARENA, math.pi)))
        else:
            spread = generator.choice(spreads)
            pose = Pose(*(np.array(goal) + generator.normal(size=3) * (spread, spread, spread / LEVER)))
        corners = outline(pose)
        if corners.min() > -OUTSIDE and corners.max() < ARENA + OUTSIDE:
            return pose


def _random_agent(generator: np.random.Generator, block: Pose, touching: bool) -> NDArray[np.float64]:
    if not touching:
        return generator.uniform(0.0, ARENA, 2)
    x, y = generator.uniform((-90.0, -40.0), (90.0, 150.0))  # in the block's own axes, the pusher's radius about it
    cos, sin = math.cos(block.angle), math.sin(block.angle)
    return np.clip((block.x + cos * x - sin * y, block.y + sin * x + cos * y), 0.0, ARENA)


def _draw(teacher: PushTTeacher, agent: NDArray[np.float64], block: NDArray[np.float64]) -> NDArray[np.uint8]:
    (agent_x, agent_y), (x, y, angle) = agent.tolist(), block.tolist()
    return teacher.reset_to_state(PushTState(agent_x, agent_y, x, y, angle)).frames["top"]


def scene_examples(scenes: Scenes, goal: Pose = STOCK_GOAL) -> Examples:
    """Scenes with the truth about them, as heads learn from."""
    contract = pusht_contract(scenes.frames.shape[1])
    found = [score(Pose(*map(float, row[2:])), goal) for row in scenes.truth]
    return Examples(
        torch.from_numpy(scenes.frames),
        torch.from_numpy(contract.normalize_proprio(scenes.truth[:, :2])),
        {name: torch.tensor([f[name] for f in found], dtype=torch.float32) for name in found[0]},
    )
