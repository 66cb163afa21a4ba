"""What drawn Push-T scenes show; light, so that ``--help`` is quick."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SceneMix:
    """Shares of the kinds of scenes."""

    near: float = 0.35
    """Share of scenes with the block about the goal."""
    near_spreads: tuple[float, ...] = (3.0, 10.0, 30.0, 60.0)
    """Spreads of its distance there in px; the angle's are the same over 60 px."""
    touching: float = 0.4
    """Share of scenes with the pusher at, or on, the block."""
    smeared: float = 0.25
    """Share of pictures that are the mean of three poses, as an averaging model draws them."""
    smear: float = 8.0
    """Largest spread of those three poses in px."""
    other_goal: float = 0.1
    """Share of scenes with the goal elsewhere."""
