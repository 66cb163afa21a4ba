"""Knobs that make an expert worse on purpose, so that recorded data holds failures of every kind."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

from world_model.errors import InputError


@dataclass(frozen=True)
class Knobs:
    """All at rest: the expert does its best."""

    action_noise: float = 0.0
    """Standard deviation of what is added to the six arm numbers of each action (their range is -1 to 1)."""
    waypoint_noise: float = 0.0
    """Metres; standard deviation of an offset of each waypoint in the air; a fifth of it at a grasp."""
    waypoint_bias: float = 0.0
    """Metres; standard deviation of one horizontal offset that stays for the episode."""
    late_grasp: int = 0
    """Control steps that the fingers close too late: the hand rises already."""
    missed_grasp: float = 0.0
    """Probability at each pick that the fingers stay open."""
    wrong_object: float = 0.0
    """Probability in an episode that other objects are carried than the task names."""
    speed: float = 1.0
    """Largest arm command, 0 to 1."""
    attempts: int = 3
    """How often a step is tried, at least once."""

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if not math.isfinite(value) or value < 0:
                raise InputError(f"{name} of an expert's knobs is {value}; give a finite number that is not negative")
        for name in ("missed_grasp", "wrong_object", "speed"):
            if getattr(self, name) > 1:
                raise InputError(f"{name} of an expert's knobs is {getattr(self, name)}; give at most 1")
        if self.speed == 0 or self.attempts < 1:
            raise InputError(f"speed {self.speed} with {self.attempts} attempts cannot act; give more than 0 of each")
