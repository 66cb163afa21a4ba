"""What `simforcing collect` asks of a teacher: episodes as a pure function of their number."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, Protocol, cast

from world_model.data.episode import Episode
from world_model.data.lerobot.layout import DatasetSpec
from world_model.errors import InputError
from world_model.extras import require

Split = Literal["train", "validation", "test"]


class Recorder(Protocol):
    """Records one split of one teacher with one seed; made anew in every worker process."""

    spec: DatasetSpec

    def describe(self) -> dict[str, Any]:
        """JSON values that the recorded episodes depend on; two runs may share a folder if they are equal."""

    def length(self, index: int) -> int | None:
        """Observations of episode ``index``; None if only recording it tells."""

    def record(self, index: int) -> Episode:
        """Episode ``index``: the same whenever and wherever it is asked for."""


RECORDERS = MappingProxyType({"pusht": "teachers.pusht.recording:PushTRecorder"})
"""Teacher to the class of its recorder, called as ``(split, seed, options)``."""


def make_recorder(teacher: str, split: Split, seed: int, options: Mapping[str, Any]) -> Recorder:
    """Import and build a recorder.

    Raises:
        InputError: no such teacher.
        MissingExtraError: its simulator is not installed.
    """
    if teacher not in RECORDERS:
        raise InputError(f"teacher {teacher!r} cannot be recorded; choose one of {sorted(RECORDERS)}")
    module, _, name = RECORDERS[teacher].partition(":")
    return cast(Recorder, getattr(require(module, teacher), name)(split, seed, options))
