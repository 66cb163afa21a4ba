"""Drawing an appearance from a seed."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from teachers.appearance.appearance import Appearance, Distractor, Lamp, Optics, Surface, Triple, View
from teachers.appearance.patterns import PATTERNS

LAMPS, SURFACES, OBJECTS, VIEWS = 4, 6, 12, 2
SHAPES = ("box", "sphere", "cylinder", "ellipsoid")


@dataclass(frozen=True)
class Ranges:
    """How far appearances may differ from the plain world; intervals are (low, high)."""

    headlight: tuple[float, float] = (0.8, 1.5)
    lamp: tuple[float, float] = (0.8, 1.2)
    lamp_tint: float = 0.08
    lamp_shift: float = 1.0
    """m"""
    cover: tuple[float, float] = (0.35, 0.85)
    contrast: tuple[float, float] = (0.0, 0.35)
    object_colour: tuple[float, float] = (0.72, 1.0)
    robot_colour: tuple[float, float] = (0.7, 1.0)
    view_shift: float = 0.02
    """m"""
    view_turn: float = 0.03
    """rad"""
    view_fov: float = 2.0
    """degrees"""
    wrist: float = 0.25
    """Share of a fixed camera's shift and turn that the wrist camera has."""
    gain: tuple[float, float] = (0.95, 1.3)
    gamma: tuple[float, float] = (0.85, 1.2)
    balance: float = 0.08
    vignette: tuple[float, float] = (0.0, 0.25)
    blur: tuple[float, float] = (0.0, 0.6)
    noise: tuple[float, float] = (0.5, 2.0)
    shot: tuple[float, float] = (0.5, 2.5)
    distractors: int = 3
    """At most."""
    friction: tuple[float, float] = (0.8, 1.15)
    damping: tuple[float, float] = (0.8, 1.3)


def draw_appearance(seed: int, ranges: Ranges | None = None) -> Appearance:
    """The appearance of a seed: the same seed and ranges draw the same."""
    r, generator = ranges or Ranges(), np.random.default_rng([seed, 0x100C5])

    def within(interval: tuple[float, float]) -> float:
        return float(generator.uniform(*interval))

    def about(spread: float, middle: float = 0.0) -> Triple:
        x, y, z = (middle + generator.uniform(-spread, spread, 3)).tolist()
        return x, y, z

    def colour(interval: tuple[float, float]) -> Triple:
        x, y, z = generator.uniform(*interval, 3).tolist()
        return x, y, z

    def lamp() -> Lamp:
        bright, tint = within(r.lamp), about(r.lamp_tint, 1.0)
        return Lamp(about(r.lamp_shift), about(0.3), (bright * tint[0], bright * tint[1], bright * tint[2]))

    def surface() -> Surface:
        pattern, grain = str(generator.choice(list(PATTERNS))), float(np.exp(generator.uniform(-4.0, -1.8)))
        painted = colour((0.2, 0.95))
        return Surface(painted, within(r.cover), pattern, grain, within(r.contrast), int(generator.integers(2**31)))

    def view(share: float) -> View:
        return View(about(share * r.view_shift), about(share * r.view_turn), float(generator.normal(0, r.view_fov / 2)))

    def distractor() -> Distractor:
        x, y = generator.uniform(-0.35, 0.1), generator.choice([-1.0, 1.0]) * generator.uniform(0.3, 0.42)
        shape, size = str(generator.choice(SHAPES)), colour((0.015, 0.04))
        return Distractor(shape, size, colour((0.05, 0.95)), (float(x), float(y)), within((-math.pi, math.pi)))

    return Appearance(
        seed=seed,
        headlight=within(r.headlight),
        lamps=tuple(lamp() for _ in range(LAMPS)),
        surfaces=tuple(surface() for _ in range(SURFACES)),
        objects=tuple(colour(r.object_colour) for _ in range(OBJECTS)),
        robot=colour(r.robot_colour),
        views=tuple(view(1.0) for _ in range(VIEWS)),
        wrist=view(r.wrist),
        optics=Optics(
            gain=within(r.gain),
            gamma=within(r.gamma),
            balance=about(r.balance, 1.0),
            vignette=within(r.vignette),
            blur=within(r.blur),
            noise=within(r.noise),
            shot=within(r.shot),
        ),
        distractors=tuple(distractor() for _ in range(generator.integers(0, r.distractors + 1))),
        friction=within(r.friction),
        damping=within(r.damping),
    )
