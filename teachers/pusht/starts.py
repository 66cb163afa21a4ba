"""Named starts of Push-T.

- "seed-800003": where gym-pusht's ``reset(seed=800003)`` puts pusher and block;
- "near-800003": the block near the goal, the pusher beside it, drawn from that seed;
- "human-12" and "human-12-37": the first or 38th recorded state of a human demonstration.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple, get_args

import numpy as np
import shapely

from teachers.pusht.contract import ARENA
from teachers.pusht.physics import Pose, PushTState
from teachers.pusht.scoring import CENTRE, outline
from world_model.errors import InputError

Kind = Literal["seed", "near", "human"]
SEEDS = {  # fixed once: a start belongs to one split for ever
    "train": (0, 800_000),
    "validation": (800_000, 900_000),
    "test": (900_000, 1_000_000),
}
MARGIN = 20.0  # px between a drawn pusher's centre and the wall or the block's edge
NEAR_SCALES = (1.5, 4.0, 10.0, 25.0, 60.0)  # px: spreads of the near starts' distance to the goal
LEVER = 60.0  # px per radian: turns the spread of distance into one of angle


class Start(NamedTuple):
    """A parsed start; ``step`` is only used by human starts."""

    kind: Kind
    number: int
    step: int = 0


def parse_start(name: str) -> Start:
    """Read a start's name.

    Raises:
        InputError: not of a known form.
    """
    kind, *numbers = name.split("-")
    fits = kind in get_args(Kind) and len(numbers) in ((1, 2) if kind == "human" else (1,))
    if not fits or not all(n.isascii() and n.isdigit() for n in numbers):
        raise InputError(f"start {name!r} is unknown; use 'seed-N', 'near-N', 'human-N' or 'human-N-STEP'")
    return Start(kind, *map(int, numbers))  # type: ignore[arg-type]


def near_goal(seed: int, goal: Pose) -> PushTState:
    """Block about the goal, between touching it exactly and some 100 px away; pusher at rest and free."""
    generator = np.random.default_rng(seed)
    scale = generator.choice(NEAR_SCALES)
    dx, dy = generator.normal(0.0, scale, 2)
    pose = Pose(
        float(np.clip(goal.x + dx, 100, ARENA - 100)),
        float(np.clip(goal.y + dy, 100, ARENA - 100)),
        goal.angle + float(generator.normal(0.0, scale / LEVER)),
    )
    block = shapely.Polygon(outline(pose))
    middle = centre_of(pose)
    while True:
        angle, distance = generator.uniform(-math.pi, math.pi), generator.uniform(50.0, 180.0)
        x, y = middle + distance * np.array([math.cos(angle), math.sin(angle)])
        inside = MARGIN < x < ARENA - MARGIN and MARGIN < y < ARENA - MARGIN
        if inside and block.distance(shapely.Point(x, y)) > MARGIN:
            return PushTState(float(x), float(y), *pose)


def centre_of(pose: Pose) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Centre of gravity ``(2,)`` of a block in px."""
    cos, sin = math.cos(pose.angle), math.sin(pose.angle)
    return np.array([pose.x - sin * CENTRE[1], pose.y + cos * CENTRE[1]])
