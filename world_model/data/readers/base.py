"""What every reader is: a lazy sequence of episodes with a contract, and warnings of what the files leave unclear."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import ClassVar, Literal, overload

import numpy as np
from numpy.typing import NDArray

from world_model.canvas import canvas_shape, join
from world_model.contract import Camera, Contract, GripperPolarity
from world_model.data.episode import Episode
from world_model.data.lerobot.video import require_real_file
from world_model.data.readers.damage import reading, refuse
from world_model.data.readers.parts import NOTHING
from world_model.errors import DataError, InputError, SimforcingError

Picture = NDArray[np.uint8]  # (H, W, 3) RGB
LARGEST = 2 * 1024**3
"""Bytes of an episode's pictures; more is refused, with smaller pictures as the mend."""
LONGEST = 1_000_000
"""Frames of an episode."""


@dataclass(frozen=True)
class View:
    """How pictures are wanted: the same for all episodes."""

    size: tuple[int, int] | None = None
    """Height and width that every camera is resized to; None keeps what is stored."""
    cameras: tuple[str, ...] = ()
    """Names of the cameras to keep; all when empty."""
    gripper: GripperPolarity | None = None
    """What more of the gripper's number means, where the files do not say; None takes the reader's word."""


AS_STORED = View()


@dataclass(frozen=True)
class Numbers:
    """An episode without its pictures."""

    actions: NDArray[np.float32]  # (T - 1, a, A) as in `Episode`
    proprio: NDArray[np.float32]  # (T, P)
    task: str = ""
    state: NDArray[np.float32] | None = None  # (T, S)
    labels: Mapping[str, NDArray[np.float32]] = field(default_factory=dict)  # (T,) each
    behaviour: str = "recorded"

    def __len__(self) -> int:
        return len(self.proprio)


class Reader(ABC, Sequence[Episode]):
    """Episodes of one folder or file in one layout, by number, in their stored order.

    A subclass finds the episodes in ``__init__``, cheaply, calls `_found`, and reads one when it is asked for.
    """

    layout: ClassVar[str]
    summary: ClassVar[str]
    scaled: ClassVar[Literal["nothing", "actions", "all"]] = "nothing"
    """Of which numbers the contract's normaliser is a published one, which data do not change."""

    def __init__(self, path: Path, view: View) -> None:
        self.path, self.view = path, view
        self.warnings: list[str] = []
        self.numbers = lru_cache(maxsize=8)(self._checked_numbers)

    @classmethod
    @abstractmethod
    def matches(cls, path: Path) -> bool:
        """Whether ``path`` looks like this layout, by names only."""

    @abstractmethod
    def _numbers(self, index: int) -> Numbers:
        """Read an episode without its pictures; stumbles are told by `reading`."""

    @abstractmethod
    def _stream(self, index: int, camera: str) -> Iterator[Picture]:
        """Frames of one camera at their stored size, in order; there may be more than the numbers have."""

    @abstractmethod
    def _file(self, index: int, camera: str = "") -> Path:
        """Where an episode's numbers, or the pictures of a camera, are stored."""

    def _found(self, contract: Contract, names: Sequence[str], splits: Sequence[str] = ()) -> None:
        """Settle what there is: the contract as stored, names of the episodes, and the split of each if it is told."""
        if not names:
            raise DataError(f"{self.path} holds no episode of layout {self.layout}; check the path")
        self.stored = contract
        self.contract = _seen(contract, self.view)
        self.names, self.splits = list(names), list(splits) or [""] * len(names)

    def warn(self, sentence: str) -> None:
        """Add a warning, once."""
        if sentence not in self.warnings:
            self.warnings.append(sentence)

    @property
    def state_names(self) -> tuple[str, ...]:
        """Names of the numbers in ``Episode.state``."""
        return ()

    @property
    def label_names(self) -> tuple[str, ...]:
        """Names of ``Episode.labels``."""
        return ()

    @property
    def pictured(self) -> bool:
        """Whether pictures are stored at all."""
        return True

    def __len__(self) -> int:
        return len(self.names)

    @overload
    def __getitem__(self, index: int) -> Episode: ...

    @overload
    def __getitem__(self, index: slice) -> list[Episode]: ...

    def __getitem__(self, index: int | slice) -> Episode | list[Episode]:
        """Episode ``index``.

        Raises:
            DataError: its files are missing or damaged, or do not fit together; the sentence names both.
        """
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        number = self._index(index)
        numbers, name = self.numbers(number), self.names[number]
        with reading(self._file(number), name):
            return Episode(
                frames=self.pictures(number),
                proprio=numbers.proprio,
                actions=numbers.actions,
                state=numbers.state,
                labels=numbers.labels,
                start=name,
                behaviour=numbers.behaviour,
            )

    def missing(self, index: int) -> list[str]:
        """A sentence for each file of an episode that is not there, empty, or only a Git LFS pointer."""
        found: list[str] = []
        for camera in ("", *(c.name for c in self.contract.cameras)):
            try:
                path = self._file(index, camera)
                with reading(path, self.names[index]):
                    if not path.is_dir():
                        require_real_file(path)
            except SimforcingError as error:
                found += [str(error)] if str(error) not in found else []
        return found

    def pictures(self, index: int) -> NDArray[np.uint8]:
        """Canvases ``(T, H, W, 3)`` of an episode (errors as of an episode)."""
        number = self._index(index)
        length = len(self.numbers(number))
        height, width, _ = canvas_shape(self.contract)
        if length * height * width * 3 > LARGEST:
            raise DataError(
                f"episode {self.names[number]} of {self.path} has {length} pictures of {width} x {height}, more than "
                f"{LARGEST / 1e9:.1f} GB; ask for smaller ones (--size)"
            )
        return join(self.contract, {c.name: self._camera(number, c, length) for c in self.contract.cameras})

    def _camera(self, number: int, camera: Camera, length: int) -> NDArray[np.uint8]:
        name, path = self.names[number], self._file(number, camera.name)
        stored = next(c for c in self.stored.cameras if c.name == camera.name)
        out = np.empty((length, camera.height, camera.width, 3), np.uint8)
        count, still, dark = 0, True, True
        first: Picture | None = None
        with reading(path, name):
            for picture in self._stream(number, camera.name):
                if count < length:
                    if picture.shape != (stored.height, stored.width, 3) or picture.dtype != np.uint8:
                        raise refuse(
                            path,
                            name,
                            f"holds pictures of {picture.dtype} {picture.shape} where camera {camera.name!r} has "
                            f"{(stored.height, stored.width, 3)}",
                        )
                    first = picture if first is None else first
                    still, dark = still and np.array_equal(picture, first), dark and not picture.any()
                    out[count] = resized(picture, camera.height, camera.width)
                count += 1
        if count < length:
            raise refuse(path, name, f"ends after {count} of {length} pictures")
        if count > length:
            self.warn(f"episode {name}: {path} has {count} pictures for {length} rows; those behind are left out")
        if dark:
            self.warn(f"episode {name}: camera {camera.name!r} is black throughout; leave it out with --cameras")
        elif still and length > 2:
            self.warn(f"episode {name}: camera {camera.name!r} shows {length} times the same picture")
        return out

    def _checked_numbers(self, index: int) -> Numbers:
        number = self._index(index)
        name, path, contract = self.names[number], self._file(number), self.stored
        with reading(path, name):
            found = self._numbers(number)
            if not found.proprio.shape[1] and contract.proprio == NOTHING:
                self.warn("no proprio is recorded: a 0 stands in its place")
                found = replace(found, proprio=np.zeros((len(found.proprio), 1), np.float32))
        rows = len(found.proprio)
        if not 1 <= rows <= LONGEST or len(found.actions) != rows - 1:
            raise refuse(path, name, f"has {rows} observations and {len(found.actions)} actions between them")
        shapes = found.actions.shape[1:], found.proprio.shape[1:]
        wanted = (contract.actions_per_frame, contract.action_dim), (contract.proprio_dim,)
        if shapes != wanted:
            raise refuse(path, name, f"has actions and proprio of {shapes} in a row, not {wanted} as other episodes")
        arrays = {"actions": found.actions, "proprio": found.proprio, "state": found.state, **found.labels}
        for what, values in arrays.items():
            if values is not None and not np.isfinite(values).all():
                raise refuse(path, name, f"holds {int((~np.isfinite(values)).sum())} NaN or infinite {what}")
        return found

    def _index(self, index: int) -> int:
        number = index + len(self) if index < 0 else index
        if not 0 <= number < len(self):
            raise IndexError(f"episode {index} of {len(self)}")
        return number


def resized(picture: Picture, height: int, width: int) -> Picture:
    """A picture in another size, smoothed where it shrinks, as IRASim resizes."""
    if picture.shape[:2] == (height, width):
        return picture
    from PIL import Image

    return np.asarray(Image.fromarray(picture).resize((width, height), Image.Resampling.BILINEAR))


def _seen(contract: Contract, view: View) -> Contract:
    """The contract of what a view shows.

    Raises:
        InputError: it names a camera that there is not.
    """
    names = [camera.name for camera in contract.cameras]
    unknown = [name for name in view.cameras if name not in names]
    if unknown:
        raise InputError(f"there is no camera {unknown[0]!r}; the cameras are {', '.join(names)}")
    kept = [c for c in contract.cameras if not view.cameras or c.name in view.cameras]
    if view.size is not None:
        kept = [replace(c, height=view.size[0], width=view.size[1]) for c in kept]
    return replace(contract, cameras=tuple(kept), gripper=view.gripper or contract.gripper)
