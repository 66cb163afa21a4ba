"""What a diffusion policy learns from: moments of recorded episodes and the actions that followed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from simforcing_env.policies.eyes import points_of
from world_model.contract import Contract
from world_model.data.lerobot.layout import ENVIRONMENT_STATE, STATE
from world_model.data.lerobot.reader import LeRobotDataset
from world_model.errors import DataError
from world_model.extras import require

SUCCESS = "next.success"


@dataclass(frozen=True)
class Moments:
    """N moments; their chunks begin with the action that was taken in view of each."""

    proprio: Tensor  # (N, P) in [-1, 1]
    actions: Tensor  # (rows, A) in [-1, 1] of all episodes end to end
    first: Tensor  # (N,) row of each moment's first action
    last: Tensor  # (N,) last row of its episode
    points: Tensor | None = None  # (N, S) of key points; for eyes that read these
    frames: Tensor | None = None  # (N, H, W, 3) uint8, for eyes that look at pixels
    tasks: Tensor | None = None  # (N,) number of the episode's task

    def __len__(self) -> int:
        return len(self.first)

    def chunks(self, moments: Tensor, horizon: int) -> Tensor:
        """Actions ``(B, horizon, A)`` from the given moments on; after an episode's end its last one is held."""
        rows = self.first[moments, None] + torch.arange(horizon)
        return self.actions[torch.minimum(rows, self.last[moments, None])]

    @staticmethod
    def join(parts: Sequence[Moments]) -> Moments:
        """Several sets as one."""
        offsets = np.cumsum([0, *(len(part.actions) for part in parts)])[:-1].tolist()

        def every(name: str) -> Tensor | None:
            found = [getattr(part, name) for part in parts]
            return None if any(value is None for value in found) else torch.cat(found)

        first = torch.cat([part.first + offset for part, offset in zip(parts, offsets, strict=True)])
        last = torch.cat([part.last + offset for part, offset in zip(parts, offsets, strict=True)])
        actions, proprio = (torch.cat([getattr(part, name) for part in parts]) for name in ("actions", "proprio"))
        return Moments(proprio, actions, first, last, every("points"), every("frames"), every("tasks"))


@dataclass(frozen=True)
class Choice:
    """Which recorded episodes are learned from."""

    behaviours: tuple[str, ...] = ()
    """Those alone; all if none is named."""
    per_task: int = 0
    """Only the first so many of each task; 0 for all."""
    solved: bool = False
    """Only those that end in success, and of these only what leads to it: then the hand rests."""


ALL = Choice()


def recorded_moments(
    data: LeRobotDataset,
    horizon: int,
    choice: Choice = ALL,
    *,
    points_of: Callable[[NDArray[np.floating], Sequence[str]], NDArray[np.float32]] | None = None,
) -> Moments:
    """Moments of recorded episodes, with key points that ``points_of`` makes of states or, without it, with pictures.

    A moment counts if ``horizon`` actions follow it, or if its episode ends in success, after which the last is held.

    Raises:
        DataError: no episode is left, or the data set lacks the teacher's state where it is needed.
    """
    parts: list[Moments] = []
    taken: Counter[int] = Counter()
    for number, behaviour in enumerate(data.behaviours):
        if choice.behaviours and behaviour not in choice.behaviours:
            continue
        columns, actions = data.columns(number), data.actions(number)
        task, reached = int(columns["task_index"][0]), np.flatnonzero(columns.get(SUCCESS, np.zeros(1)) > 0.5)
        if (choice.solved and not len(reached)) or (choice.per_task and taken[task] >= choice.per_task):
            continue
        if points_of is not None and ENVIRONMENT_STATE not in columns:
            raise DataError(f"{data.path} holds no {ENVIRONMENT_STATE}, which key points are made of; choose pixels")
        if choice.solved:
            actions = _then_rest(data.contract, actions[: int(reached[0]) + 1])
        taken[task] += 1
        states = None if points_of is None else points_of(columns[ENVIRONMENT_STATE], data.state_names)
        frames = data.frames(number) if points_of is None else None
        parts += _moments(data.contract, columns[STATE], actions, horizon, len(reached) > 0, states, frames, task)
    return _joined(parts, str(data.path))


def _then_rest(contract: Contract, actions: NDArray[np.float32]) -> NDArray[np.float32]:
    """Actions ``(T, a, A)`` and a frame of rest: no movement, and what is absolute stays."""
    relative = np.array([dim.kind == "relative" for dim in contract.actions])
    return np.concatenate([actions, np.where(relative, 0, actions[-1:, -1:]).repeat(actions.shape[1], 1)])


def demonstrated_moments(folder: Path, contract: Contract, horizon: int) -> Moments:
    """Moments of the training part of Push-T's human demonstrations, which all end in success.

    Raises:
        DataError: they are not there, or damaged.
        MissingExtraError: the simulator, whose reader this is, is not installed.
    """
    humans = require("teachers.pusht.demonstrations", "pusht").demonstrations(folder)
    parts: list[Moments] = []
    for number in range(humans.train_count):
        states = humans.states[humans.rows(number)]
        points = points_of(states[:, 2:5])
        parts += _moments(contract, states[:, :2], humans.targets(number)[:, None], horizon, True, points, None)
    return _joined(parts, str(folder))


def mirrored(moments: Moments) -> Moments:
    """The same moments seen in a mirror along the goal's axis, which maps Push-T's stock arena and goal on themselves.

    The mirror takes (x, y) to (-y, -x) and exchanges the two ends of the block's bar.
    """
    assert moments.points is not None

    def flip(pairs: Tensor) -> Tensor:
        return -pairs.flip(-1)

    ends = flip(moments.points.view(len(moments), -1, 2))[:, [1, 0, 2]].flatten(1)
    return Moments(flip(moments.proprio), flip(moments.actions), moments.first, moments.last, ends)


def _moments(
    contract: Contract,
    proprio: NDArray[np.floating],
    actions: NDArray[np.float32],
    horizon: int,
    solved: bool,
    points: NDArray[np.float32] | None,
    frames: NDArray[np.uint8] | None,
    task: int = 0,
) -> Iterable[Moments]:
    """None or one set of moments of an episode with ``actions`` ``(T, a, A)``, one moment to each frame."""
    each = actions.shape[1]
    count = len(actions) if solved else len(actions) - -(-horizon // each) + 1
    if count < 1:
        return
    yield Moments(
        torch.from_numpy(contract.normalize_proprio(proprio[:count])),
        torch.from_numpy(contract.normalize_actions(actions)).flatten(0, 1),
        torch.arange(count) * each,
        torch.full((count,), len(actions) * each - 1),
        None if points is None else torch.from_numpy(points[:count]),
        None if frames is None else torch.from_numpy(frames[:count]),
        torch.full((count,), task),
    )


def _joined(parts: Sequence[Moments], where: str) -> Moments:
    if not parts:
        raise DataError(f"{where} holds no episode that is long enough; record more, or name other behaviours")
    return Moments.join(parts)
