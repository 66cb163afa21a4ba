"""How far the two domains of Push-T part under the same actions from the same start. Nothing is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from teachers.pusht.behaviours import RECIPES, Scene
from teachers.pusht.mujoco_world import MujocoWorld, TablePhysics
from teachers.pusht.physics import Pose, PushTWorld
from teachers.pusht.pushes import clip
from teachers.pusht.recording import PushTRecorder
from teachers.pusht.scoring import outline
from teachers.recording import Split

MOVED = 1.0  # px: a block whose corners went less far on average has not been pushed


@dataclass(frozen=True)
class Parting:
    """Of each recorded episode, after each of some numbers of frames; NaN where the episode is over by then."""

    apart: NDArray[np.float64]  # (E, F) px: mean distance of the block's corners in MuJoCo and in gym-pusht
    way: NDArray[np.float64]  # (E, F) px: mean distance of its corners from where they began, in gym-pusht


def parting(
    episodes: int,
    frames: Sequence[int],
    split: Split = "validation",
    seed: int = 0,
    physics: TablePhysics | None = None,
) -> Parting:
    """Play the behaviours of recorded episodes in gym-pusht, and their actions in MuJoCo."""
    recorder, twin, sandbox = PushTRecorder(split, seed, {}), MujocoWorld(physics), PushTWorld()
    teacher = recorder.teacher
    apart, way = np.full((2, episodes, len(frames)), np.nan)
    for episode in range(episodes):
        plan = recorder.plan(episode)
        teacher.reset(plan.start, render=False)
        twin.reset_state(teacher.world.state)
        first = teacher.world.block_pose
        behaviour = RECIPES[plan.behaviour].behaviour(Scene(teacher, sandbox, plan.generator, plan.script))
        for frame in range(1, min(max(frames), plan.transitions) + 1):
            target = clip(next(behaviour)).astype(np.float32)
            teacher.step(target[None], render=False)
            twin.step(float(target[0]), float(target[1]))
            if frame in frames:
                at = frames.index(frame)
                apart[episode, at] = between(twin.block_pose, teacher.world.block_pose)
                way[episode, at] = between(first, teacher.world.block_pose)
    return Parting(apart, way)


def between(one: Pose, other: Pose) -> float:
    """Mean distance in px of the corners of a block in two poses."""
    return float(np.hypot(*(outline(one) - outline(other)).T).mean())
