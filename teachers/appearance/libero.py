"""LIBERO in the `real` domain: the same tasks under another look, with slightly other physics."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from teachers.appearance.appearance import Appearance
from teachers.appearance.drawing import Ranges, draw_appearance
from teachers.appearance.optics import expose
from teachers.appearance.paired import Notes
from teachers.appearance.wardrobe import Wardrobe, decoration
from teachers.libero.behaviours import different_goals, holds
from teachers.libero.contract import CAMERAS
from teachers.libero.layout import layout_of
from teachers.libero.object_state import ObjectState
from teachers.libero.physics import Look, Saved
from teachers.libero.renderer import Renderer
from teachers.libero.suites import Task
from teachers.libero.teacher import LiberoConfig, LiberoTeacher
from teachers.libero.world import LiberoWorld


class DressedWorld(LiberoWorld):
    """A LIBERO task that can wear an appearance; without one it is the plain world, bit for bit."""

    def __init__(self, task: Task, look: Look = "stock") -> None:
        super().__init__(task, look)
        self.appearance: Appearance | None = None
        self._wardrobe = Wardrobe(self._model, self._bodies.values(), CAMERAS["wrist"])
        self._drew: Renderer | None = None

    def wear(self, appearance: Appearance | None) -> None:
        """Put an appearance on, or take off what is worn."""
        if appearance != self.appearance:
            if appearance is None:
                self._wardrobe.undress()
            else:
                self._wardrobe.wear(appearance)
            self.appearance = appearance

    def render(self, camera: str = "agentview", size: int = 128) -> NDArray[np.uint8]:
        """Picture ``(size, size, 3)`` RGB of the present state, upright; its noise belongs to the state.

        Raises:
            NoRendererError: this machine cannot draw.
        """
        drawer = self._drawer(size)
        if drawer is self._drew:  # a new one has the present pixels already
            drawer.upload(self._wardrobe.repainted)
        self._drew, worn = drawer, self.appearance
        self._wardrobe.repainted.clear()
        number = self._model.camera(camera).id
        if worn is None:
            return drawer.render(self._data, number, size)
        x, y, z = self.env.workspace_offset
        middle = np.array([x, y, max(z, 0.0)])  # never below the floor
        picture = drawer.render(self._data, number, size, decorate=decoration(worn.distractors, middle))
        moment = zlib.crc32(self._data.qpos.tobytes())
        return expose(picture, worn.optics, np.random.default_rng([worn.seed, number, moment]))

    def snapshot(self) -> Saved:
        worn = None if self.appearance is None else self.appearance.to_dict()
        return {**super().snapshot(), "appearance": np.array(json.dumps(worn))}

    def restore(self, saved: Saved) -> None:
        """Go to a snapshot of this task, in the look that it was taken in; one of a plain world keeps the present look.

        Raises:
            InputError: the snapshot is of another scene.
            DataError: its appearance cannot be read.
        """
        if "appearance" in saved:
            worn = json.loads(str(saved["appearance"]))
            self.wear(None if worn is None else Appearance.from_dict(worn))
        super().restore(saved)


class RealLiberoTeacher(LiberoTeacher):
    """A suite in the `real` domain; contract, starts, labels and state are those of `LiberoTeacher`.

    Args:
        config: as of `LiberoTeacher`.
        ranges: how far appearances may go.
    """

    world_type = DressedWorld

    def __init__(self, config: LiberoConfig | None = None, ranges: Ranges | None = None) -> None:
        super().__init__(config)
        self.ranges = ranges
        self.appearance = draw_appearance(0, ranges)

    def dress(self, seed: int) -> Mapping[str, Any]:
        """Draw the appearance that is worn from the next reset on, and tell its values."""
        self.appearance = draw_appearance(seed, self.ranges)
        return self.appearance.to_dict()

    def notes(self) -> Notes:
        """As `LiberoRecorder`'s: where all of a suite's objects are, and which of its tasks' goals hold."""
        objects, goals = (
            ObjectState(layout_of(self.config.suite), self.config.cameras),
            different_goals(self.config.suite),
        )

        def labels() -> dict[str, float]:
            return {**self.labels(), **{f"success_{i}": float(holds(self.world, goal)) for i, goal in enumerate(goals)}}

        names = (*self.label_names, *(f"success_{i}" for i in range(len(goals))))
        return Notes(objects.names, names, lambda: objects.read(self.world), labels)

    def _begin(self, world: Any, start: str) -> None:
        world.wear(self.appearance)
        super()._begin(world, start)
