"""What every writer is: it says first what its layout cannot hold, then takes episodes one by one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from world_model.canvas import split
from world_model.contract import Contract
from world_model.data.episode import Episode
from world_model.data.lerobot.video import VideoWriter
from world_model.data.readers.parts import NOTHING
from world_model.errors import InputError


@dataclass(frozen=True)
class Origin:
    """What the episodes have in common."""

    contract: Contract
    state_names: tuple[str, ...] = ()
    label_names: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ("",)
    """``Episode.task`` is a number of one."""


class Writer(ABC):
    """Fills ``folder``, which is empty, with episodes in their order; call `close` at the end.

    Raises:
        InputError: the layout has no place for such episodes (in ``__init__``, before anything is written).
    """

    layout: ClassVar[str]
    keeps_labels: ClassVar[tuple[str, ...]] = ()
    keeps_tasks: ClassVar[bool] = True
    keeps_proprio: ClassVar[bool] = True

    def __init__(self, folder: Path, origin: Origin) -> None:
        self.folder, self.origin, self.contract = folder, origin, origin.contract
        self.count = 0
        lost = [f"label {name}" for name in origin.label_names if name not in self.keeps_labels]
        lost += ["privileged state"] if origin.state_names else []
        lost += ["instructions"] if not self.keeps_tasks and any(origin.tasks) else []
        self.has_proprio = origin.contract.proprio not in ((), NOTHING)
        lost += ["proprio"] if not self.keeps_proprio and self.has_proprio else []
        self.warnings = [f"layout {self.layout} holds no {what}: left out" for what in lost]
        self.warnings.append(f"layout {self.layout} holds no contract: units, bounds and normaliser are left out")
        self._refuse_unfit()

    def add(self, episode: Episode, name: str, split_name: str) -> None:
        """Append an episode; ``name`` is that of its source."""
        self._add(episode, name, split_name)
        self.count += 1

    @abstractmethod
    def _add(self, episode: Episode, name: str, split_name: str) -> None:
        """Write an episode as number ``count``."""

    def close(self) -> None:  # noqa: B027 (most have nothing to do)
        """Write what is known only at the end."""

    def _refuse_unfit(self) -> None:  # noqa: B027 (some take everything)
        """Raise `InputError` for a contract that the layout has no place for."""

    def _unfit(self, why: str) -> InputError:
        return InputError(f"{self.contract.name!r} cannot be written as {self.layout}: {why}")

    def _pictures(self, episode: Episode) -> dict[str, NDArray[np.uint8]]:
        return split(self.contract, episode.frames)

    def _video(self, path: Path, frames: NDArray[np.uint8]) -> None:
        """Write frames ``(T, H, W, 3)`` without loss."""
        path.parent.mkdir(parents=True, exist_ok=True)
        height, width = frames.shape[1:3]
        with VideoWriter(path, height, width, self.contract.frame_hz) as video:
            video.add(frames)


def padded(actions: NDArray[np.float32]) -> NDArray[np.float32]:
    """Actions ``(T - 1, a, A)`` as rows ``(T, a * A)``, the last one twice; of one frame, a row of zeros."""
    flat = actions.reshape(len(actions), -1) if len(actions) else np.zeros((1, actions.shape[1] * actions.shape[2]))
    rows = flat if not len(actions) else np.concatenate([flat, flat[-1:]])
    return np.asarray(rows, np.float32)
