"""iVideoGPT's samples: one npz an episode, with ``image``, further cameras and ``action``, all T rows.

Row t of the actions was taken at frame t. BAIR's Sawyer has ``action`` and two cameras, RT-1's sample pictures only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from world_model.contract import Camera, Dimension, GripperPolarity
from world_model.data.readers.arrays import array_shapes, read_array
from world_model.data.readers.base import AS_STORED, Numbers, Picture, Reader, View
from world_model.data.readers.damage import reading, refuse
from world_model.data.readers.parts import NOTHING, bounded, dimensions, no_actions, rows, single

ACTION = "action"


@dataclass(frozen=True)
class Robot:
    """What the files of one robot mean."""

    name: str
    hz: float
    actions: tuple[Dimension, ...]
    gripper: GripperPolarity = "none"


BAIR = Robot(
    "bair",
    10.0,
    (
        *dimensions(("move_x", "move_y"), "m", 0.25, "relative"),
        Dimension("command_2", "", -4.0, 4.0),  # 0 or 3 in the sample; the packaging does not say what of
        Dimension("command_3", "", -1.0, 1.0),
    ),
)
RT1 = Robot("rt1", 3.0, NOTHING)
ROBOTS = {4: BAIR, 0: RT1}
"""By the width of the actions, 0 where there are none."""


class NpzReader(Reader):
    """See the module."""

    layout = "npz"
    summary = "iVideoGPT's samples (BAIR, RT-1): npz with image, aux1_image, action"

    @classmethod
    def matches(cls, path: Path) -> bool:
        return bool(_files(path)) and not any(p.suffix == ".mp4" for p in path.glob("*"))

    def __init__(self, path: Path, view: View = AS_STORED) -> None:
        super().__init__(path, view)
        self._files = _files(path)
        first = self._files[0] if self._files else path
        with reading(first, first.stem):
            shapes = array_shapes(first)
            cameras = [Camera(n, s[1], s[2]) for n, (s, _) in shapes.items() if len(s) == 4 and s[3] == 3]
            width = shapes[ACTION][0][1] if ACTION in shapes else 0
            if not cameras:
                raise ValueError(f"no pictures (T, H, W, 3) among the arrays {', '.join(shapes)}")
            robot = ROBOTS.get(width) or Robot("unknown", 5.0, dimensions([f"a{i}" for i in range(width)], "", 1.0))
        if width not in ROBOTS:
            self.warn(f"actions of {width} numbers are of no robot known here; rate and units are guesses")
        if not width:
            self.warn("no actions are recorded: a 0 stands in their place, and a model learns no control from it")
        self._robot = robot
        self._found(bounded(robot.name, cameras, robot.hz, robot.actions), [f.stem for f in self._files])

    def _file(self, index: int, camera: str = "") -> Path:
        return self._files[index]

    def _numbers(self, index: int) -> Numbers:
        path, camera = self._files[index], self.stored.cameras[0].name
        shapes = array_shapes(path)
        length = shapes[camera][0][0]
        if ACTION in shapes:
            actions = rows(read_array(path, ACTION))
            if len(actions) != length:
                raise refuse(path, self.names[index], f"has {len(actions)} actions for {length} pictures")
            self.warn("the action at the last frame of an episode leads to no frame and is left out")
            return Numbers(single(actions[:-1]), np.zeros((length, 0), np.float32))
        return Numbers(no_actions(length), np.zeros((length, 0), np.float32))

    def _stream(self, index: int, camera: str) -> Iterator[Picture]:
        pictures = read_array(self._files[index], camera)
        if pictures.dtype.kind not in "iu" or pictures.min(initial=0) < 0 or pictures.max(initial=0) > 255:
            raise ValueError(f"{camera} holds {pictures.dtype} that are no grey levels from 0 to 255")
        yield from pictures.astype(np.uint8)


def _files(path: Path) -> Sequence[Path]:
    if path.is_file():
        return [path] if path.suffix == ".npz" else []
    return sorted(path.glob("*.npz"))
