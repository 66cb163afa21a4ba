"""Recording replayed pairs: ``real/`` holds the videos, ``sim/`` the arm in MuJoCo."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from teachers.collection import Job, collect
from teachers.replay.teacher import SEED, ReplayTeacher
from world_model.data.episode import Episode
from world_model.data.lerobot.layout import DatasetSpec
from world_model.data.pairs import DOMAINS, Domain, Seeded, write_pairs

WORLD = "droid"


class ReplayRecorder:
    """All episodes of one domain, in the order of `ReplayTeacher.names`."""

    episodes_per_shard = 4

    def __init__(self, root: Path, domain: Domain) -> None:
        self.teacher, self.domain = ReplayTeacher(root), domain
        self.spec = DatasetSpec(
            contract=self.teacher.contract,
            state_names=self.teacher.state_names,
            tasks=tuple(dict.fromkeys(self._task(name) for name in self.teacher.names)),
            robot="franka",
        )

    def describe(self) -> dict[str, Any]:
        looks = [self.teacher.appearance(name) for name in self.teacher.names] if self.domain == "sim" else []
        return {"world": WORLD, "domain": self.domain, "names": list(self.teacher.names), "cameras": looks}

    def length(self, index: int) -> int:
        return len(self.teacher.episode(self.teacher.names[index]))

    def record(self, index: int) -> Episode:
        name = self.teacher.names[index]
        episode = self.teacher.play(name, self.domain)
        return Episode(**{**vars(episode), "task": self.spec.tasks.index(self._task(name))})

    def _task(self, name: str) -> str:
        return self.teacher.episode(name).task


@dataclass(frozen=True)
class ReplayJob(Job):
    """To record one domain of the real episodes under ``root``."""

    root: Path = Path()
    domain: Domain = "sim"

    def recorder(self) -> ReplayRecorder:
        return ReplayRecorder(self.root, self.domain)


def record_replay(root: Path, out: Path, workers: int, progress: Callable[[int, int], None]) -> ReplayTeacher:
    """Make a folder of pairs from real episodes; a run that was killed goes on with the same arguments.

    Args:
        root: see `ReplayTeacher`.
        progress: called with (episodes of a domain that are in, episodes).

    Raises:
        DataError: real files are missing or damaged, or ``out`` holds something else.
        MissingExtraError: robosuite is not installed.
        NoRendererError: this machine cannot draw.
    """
    teacher = ReplayTeacher(root)
    for domain in DOMAINS:
        job = ReplayJob(
            *(WORLD, "train", SEED, None, {}),
            episodes_per_shard=ReplayRecorder.episodes_per_shard,
            episodes=len(teacher.names),
            root=root,
            domain=domain,
        )
        collect(job, out / domain, workers, progress)
    write_pairs(out, WORLD, "real", [Seeded(SEED, teacher.appearance(name)) for name in teacher.names])
    return teacher
