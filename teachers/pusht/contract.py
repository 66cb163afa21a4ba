"""What the numbers of Push-T mean."""

from __future__ import annotations

from world_model.contract import Camera, Contract, Dimension, Normalizer

ARENA = 512.0  # px: side of the square world, and of the picture that is drawn before shrinking


def pusht_contract(size: int = 64) -> Contract:
    """Contract of Push-T with ``size`` x ``size`` frames; actions are absolute targets of the pusher in px."""
    low, high = (0.0, 0.0), (ARENA, ARENA)
    return Contract(
        name="pusht",
        cameras=(Camera("top", size, size, "upright"),),
        control_hz=10.0,
        actions_per_frame=1,
        actions=tuple(Dimension(f"target_{axis}", "px", 0.0, ARENA) for axis in "xy"),
        proprio=tuple(Dimension(f"agent_{axis}", "px", 0.0, ARENA) for axis in "xy"),
        normalizer=Normalizer("bounds", low, high, low, high),
    )
