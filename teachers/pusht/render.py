"""Pictures of the Push-T world in gym-pusht's look."""

from __future__ import annotations

from typing import Literal, get_args

import cv2
import numpy as np
import pygame
from gym_pusht.envs.pymunk_override import DrawOptions
from numpy.typing import NDArray

from teachers.pusht.contract import ARENA
from teachers.pusht.physics import Pose, PushTWorld
from teachers.pusht.scoring import outline
from world_model.rules import Choice, follow

Look = Literal["area", "stock"]
SIDE = int(ARENA)


class Renderer:
    """Draws one world at 512 x 512 and shrinks it.

    Look "area" averages over the pixels that a small pixel covers. Look "stock" is gym-pusht's own
    picture bit for bit: it samples between pixels, which makes edges flicker from frame to frame,
    and marks contacts in red. The commanded target is never drawn.
    """

    def __init__(self, goal: Pose, look: Look = "area") -> None:
        follow(Choice(get_args(Look)), "look", look)
        self._interpolation = cv2.INTER_AREA if look == "area" else cv2.INTER_LINEAR
        self._canvas = np.empty((SIDE, SIDE, 4), np.uint8)  # pygame's antialiased lines need 32 bits
        self._surface = pygame.image.frombuffer(self._canvas.data, (SIDE, SIDE), "RGBX")  # shares memory
        self._options = DrawOptions(self._surface)
        if look == "area":
            self._options.flags = DrawOptions.DRAW_SHAPES
        self._background = self._draw_background(goal)

    def render(self, world: PushTWorld, size: int) -> NDArray[np.uint8]:
        """One frame ``(size, size, 3)`` RGB."""
        np.copyto(self._canvas, self._background)
        world.space.debug_draw(self._options)
        small = cv2.resize(self._canvas, (size, size), interpolation=self._interpolation)
        return np.ascontiguousarray(small[..., :3])

    def _draw_background(self, goal: Pose) -> NDArray[np.uint8]:
        self._surface.fill((255, 255, 255))
        corners = outline(goal)
        for box in (corners[[0, 1, 2, 7]], corners[[6, 3, 4, 5]]):
            pygame.draw.polygon(self._surface, pygame.Color("LightGreen"), [(round(x), round(y)) for x, y in box])
        return self._canvas.copy()
