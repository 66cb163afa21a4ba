"""What a world model has to beat: nothing moves on, or everything moves on as it did."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from teachers.pusht.contract import ARENA
from teachers.pusht.physics import Pose, PushTState
from teachers.pusht.teacher import PushTConfig, PushTTeacher
from world_model.errors import InputError
from world_model.metrics.clips import Clips


def copy_last(clips: Clips) -> NDArray[np.uint8]:
    """The last known frame for ever: ``(B, n, H, W, 3)``, a view."""
    return np.broadcast_to(clips.last, clips.truth.shape)


def extrapolated(clips: Clips) -> NDArray[np.float64]:
    """Poses ``(B, n, 5)`` (pusher x, y, block x, y in px, angle in radians) that go on at the true velocity.

    The velocity is the last step's before the first generated frame; positions stop at the arena's edge.

    Raises:
        InputError: no recorded state, or a history of one frame.
    """
    if clips.state is None or clips.history < 2:
        raise InputError(
            f"constant velocity needs block poses ({'none' if clips.state is None else 'some'} are recorded) and 2 "
            f"known frames (there are {clips.history}); use a data set with state and a longer history"
        )
    poses = true_poses(clips)
    now, before = poses[:, clips.history - 1], poses[:, clips.history - 2]
    steps = np.arange(1, clips.horizon + 1)[:, None]
    future: NDArray[np.float64] = now[:, None] + steps * (now - before)[:, None]
    future[..., :4] = future[..., :4].clip(0.0, ARENA)
    return future


def true_poses(clips: Clips) -> NDArray[np.float64]:
    """``(B, h + n, 5)``: pusher x, y, block x, y in px, angle in radians.

    Raises:
        InputError: no recorded state.
    """
    if clips.state is None:
        raise InputError("these episodes hold no block poses; record them with their state")
    return np.concatenate([clips.proprio.astype(np.float64), clips.state[..., :3]], -1)


def constant_velocity(clips: Clips) -> NDArray[np.uint8]:
    """Frames ``(B, n, H, W, 3)`` of `extrapolated` poses, drawn by the true renderer: it knows poses and goal."""
    poses, state = extrapolated(clips), clips.state
    assert state is not None  # `extrapolated` has refused clips without it
    frames = np.empty(clips.truth.shape, np.uint8)
    teachers: dict[Pose, PushTTeacher] = {}
    for i in range(len(clips)):
        goal = Pose(*(float(v) for v in state[i, 0, 5:8]))
        if goal not in teachers:
            teachers[goal] = PushTTeacher(PushTConfig(size=clips.frames.shape[2], goal=goal))
        for k in range(clips.horizon):
            drawn = teachers[goal].reset_to_state(_state(poses[i, k]))
            frames[i, k] = drawn.frames["top"]
    return frames


def _state(pose: NDArray[np.float64]) -> PushTState:
    agent_x, agent_y, x, y, angle = pose.tolist()
    return PushTState(agent_x, agent_y, x, y, angle)
