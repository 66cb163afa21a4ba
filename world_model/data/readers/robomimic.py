"""Demonstrations of robosuite, robomimic and LIBERO in HDF5, by way of `world_model.data.hdf5`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from world_model.contract import Camera, Dimension
from world_model.data.hdf5 import PICTURES, Demonstration, DemonstrationFile
from world_model.data.readers.base import AS_STORED, Numbers, Picture, Reader, View
from world_model.data.readers.damage import reading, refuse
from world_model.data.readers.parts import AXES, bounded, dimensions, single
from world_model.errors import DataError

HZ = 20.0
"""robosuite's rate of control, where the file does not tell another."""
ACTIONS = (
    *(Dimension(f"move_{axis}", "0.05 m", -1.0, 1.0, "relative") for axis in AXES),
    *(Dimension(f"turn_r{axis}", "0.5 rad", -1.0, 1.0, "relative") for axis in AXES),
    Dimension("gripper", "sign", -1.0, 1.0),
)
HAND = (
    *dimensions([f"hand_{axis}" for axis in AXES], "m", 2.0),
    *dimensions([f"turn_r{axis}" for axis in AXES], "rad", 2 * np.pi),
)
FINGERS = dimensions(("finger_0", "finger_1"), "m", 0.1)
MEND = "draw them from the states with 'simforcing data import'"


class RobomimicReader(Reader):
    """See the module. Files without pictures have numbers only."""

    layout = "robomimic"
    summary = "robosuite, robomimic and LIBERO: HDF5 with data/demo_0, data/demo_1, ..."
    scaled = "actions"

    @classmethod
    def matches(cls, path: Path) -> bool:
        return bool(hdf5_files(path))

    def __init__(self, path: Path, view: View = AS_STORED) -> None:
        super().__init__(path, view)
        self._demos = lru_cache(maxsize=2)(self._read)
        self._places: list[tuple[Path, int, str]] = []
        for file in hdf5_files(path):
            with reading(file), DemonstrationFile(file) as opened:
                settings = opened.settings
                task = opened.task or str(settings.get("env_name", ""))
                self._places += [(file, number, task) for number in range(len(opened))]
                if len(self._places) == len(opened):
                    world, hz = str(settings.get("env_name", "robosuite")), float(settings.get("control_freq", HZ))
        if not self._places:
            raise refuse(path, "", "holds no HDF5 file", "check the path")
        first = self._demos(0)
        cameras = [Camera(c, *first.pictures[c].shape[1:3]) for c in PICTURES if c in first.pictures]
        if not cameras:
            self.warn(f"no pictures are stored; {MEND}")
        self._pictured = bool(cameras)
        proprio = (*(HAND if first.hand is not None else ()), *(FINGERS if first.fingers is not None else ()))
        width = first.actions.shape[1]
        actions = ACTIONS if width == len(ACTIONS) else dimensions([f"action_{i}" for i in range(width)], "", 1.0)
        contract = bounded(world, cameras or [Camera("none", 1, 1)], hz, actions, proprio, "plus_closes")
        stem = len({file for file, *_ in self._places}) > 1
        self._found(contract, [f"{f.stem}/{n}" if stem else str(n) for f, n, _ in self._places])

    @property
    def label_names(self) -> tuple[str, ...]:
        return ("reward",)

    @property
    def pictured(self) -> bool:
        return self._pictured

    def simulation(self, index: int) -> NDArray[np.float64] | None:
        """States of the simulator before each action ``(T, 1 + nq + nv)``, where they are stored."""
        return self._demos(index).states

    def _file(self, index: int, camera: str = "") -> Path:
        return self._places[index][0]

    def _read(self, index: int) -> Demonstration:
        file, number, _ = self._places[index]
        with reading(file, str(number)), DemonstrationFile(file) as opened:
            demo: Demonstration = opened[number]
        return demo

    def _numbers(self, index: int) -> Numbers:
        demo, task = self._demos(index), self._places[index][2]
        seen = [len(v) for v in (demo.hand, demo.fingers, *demo.pictures.values()) if v is not None]
        length = seen[0] if seen else len(demo.actions)
        # Row t of the actions leads to row t of what was seen after it, or from row t of what was seen before it.
        first = 1 if demo.after else 0
        actions, rewards = (values[first : first + length - 1] for values in (demo.actions, demo.rewards))
        if length != len(demo.actions) + 1:
            self.warn(f"the {'first' if demo.after else 'last'} action of an episode stands beside no second picture")
        outside = np.abs(actions).max(initial=0.0)
        if outside > 1.0 + 1e-6:
            self.warn(f"actions reach {outside:.4g} where the controller takes -1 to 1 and clips the rest")
        parts = [v for v in (demo.hand, demo.fingers) if v is not None]
        proprio = np.concatenate([np.zeros((length, 0)), *parts], axis=1)
        labels = {"reward": np.concatenate([[0.0], rewards]).astype(np.float32)}
        return Numbers(single(actions.astype(np.float32)), proprio.astype(np.float32), task, labels=labels)

    def _stream(self, index: int, camera: str) -> Iterator[Picture]:
        if not self._pictured:
            raise DataError(f"{self._file(index)} holds no pictures; {MEND}")
        yield from self._demos(index).pictures[camera]


def hdf5_files(path: Path) -> list[Path]:
    """The HDF5 file at ``path``, or those right in the folder."""
    if path.is_file():
        return [path] if path.suffix in (".hdf5", ".h5") else []
    return sorted(p for p in path.glob("*") if p.suffix in (".hdf5", ".h5") and p.is_file())
