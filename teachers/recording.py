"""What `simforcing collect` asks of a teacher: episodes as a pure function of their number."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any, Literal, Protocol, cast

from teachers.registry import LIBERO
from world_model.contract import Contract
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


@dataclass(frozen=True)
class Recordable:
    """Where a teacher's recorder is, called as ``(split, seed, options)``."""

    place: str
    """Module and name of its class."""
    extra: str
    episodes_per_shard: int
    """Episodes in a file that take about half a minute at most; a kill costs at most a file per worker."""
    given: Mapping[str, Any] = field(default_factory=dict)
    """Options that the teacher's name settles."""
    arm: bool = False
    """Whether cameras and frame rate are options."""


_LIBERO = Recordable("teachers.libero.recording:LiberoRecorder", "libero", 5, arm=True)
RECORDERS = MappingProxyType(
    {
        "pusht": Recordable("teachers.pusht.recording:PushTRecorder", "pusht", 32),
        "pusht-mujoco": Recordable("teachers.pusht.mujoco_recording:MujocoPushTRecorder", "pusht-mujoco", 32),
        "libero": _LIBERO,
        **{suite: replace(_LIBERO, given={"suite": suite}) for suite in LIBERO},
    }
)


def make_recorder(teacher: str, split: Split, seed: int, options: Mapping[str, Any]) -> Recorder:
    """Import and build a recorder.

    Raises:
        InputError: no such teacher.
        MissingExtraError: its simulator is not installed.
    """
    found = recordable(teacher)
    module, _, name = found.place.partition(":")
    return cast(Recorder, getattr(require(module, found.extra), name)(split, seed, {**options, **found.given}))


def recorder_for(contract: Contract, split: Split, seed: int, options: Mapping[str, Any]) -> Recorder:
    """The recorder of a contract's teacher, with frames as the contract has them; ``options`` are all others.

    Raises:
        InputError: no such teacher.
        MissingExtraError: its simulator is not installed.
        ContractError: the teacher cannot record under the contract.
    """
    seen: dict[str, Any] = {"size": contract.cameras[0].height}
    if recordable(contract.name).arm:
        cameras = tuple(camera.name for camera in contract.cameras)
        seen |= {"cameras": cameras, "frame_hz": contract.frame_hz, "look": contract.look or "stock"}
    recorder = make_recorder(contract.name, split, seed, {**seen, **options})
    contract.require_same(recorder.spec.contract, "the checkpoint", "the teacher")
    return recorder


def recordable(teacher: str) -> Recordable:
    """Where a teacher's recorder is.

    Raises:
        InputError: no such teacher.
    """
    if teacher not in RECORDERS:
        raise InputError(f"teacher {teacher!r} cannot be recorded; choose one of {', '.join(sorted(RECORDERS))}")
    return RECORDERS[teacher]


def options_for(teacher: str, options: Mapping[str, Any], config: type, further: tuple[str, ...]) -> dict[str, Any]:
    """A copy of a recorder's options, which are fields of a config dataclass or ``further`` names.

    Raises:
        InputError: one that this teacher does not have.
    """
    known = (*(field.name for field in fields(config)), *further)
    for name in options:
        if name not in known:
            raise InputError(f"{teacher} has no option {name!r}; its options are {', '.join(sorted(known))}")
    return dict(options)
