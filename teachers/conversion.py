"""Other people's recordings become LeRobot v3.0 data sets of ours; a killed conversion is gone on with."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from teachers.collection import Job, collect
from world_model.contract import Contract
from world_model.data.episode import Episode
from world_model.data.lerobot.layout import DatasetSpec
from world_model.data.readers.base import Reader, View
from world_model.data.readers.registry import open_reader


@dataclass(frozen=True)
class Plan:
    """Which episodes of which data set, and what their numbers mean."""

    path: Path
    layout: str
    view: View
    contract: Contract
    episodes: tuple[int, ...]
    lengths: tuple[int, ...]
    """Observations of each."""
    tasks: tuple[str, ...]
    """All tasks of the data set."""
    split: str = "train"


class ConversionRecorder:
    """The chosen episodes, as `teachers.collection` asks for them."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.reader = open_reader(plan.path, plan.layout, plan.view)
        self.spec = spec_of(self.reader, plan)

    def describe(self) -> dict[str, Any]:
        plan = self.plan
        return {
            "source": str(plan.path.resolve()),
            "layout": plan.layout,
            "view": dataclasses.asdict(plan.view),
            "contract": plan.contract.hash,
            "source_episodes": [self.reader.names[i] for i in plan.episodes],
        }

    def length(self, index: int) -> int:
        return self.plan.lengths[index]

    def record(self, index: int) -> Episode:
        number = self.plan.episodes[index]
        task = self.reader.numbers(number).task
        return dataclasses.replace(self.reader[number], task=self.plan.tasks.index(task))


@dataclass(frozen=True)
class ConversionJob(Job):
    """To convert the episodes of a plan."""

    plan: Plan | None = field(default=None)

    def recorder(self) -> ConversionRecorder:
        assert self.plan is not None
        return ConversionRecorder(self.plan)


def spec_of(reader: Reader, plan: Plan) -> DatasetSpec:
    """What the data set will hold."""
    return DatasetSpec(
        contract=plan.contract,
        state_names=reader.state_names,
        label_names=reader.label_names,
        tasks=plan.tasks,
        robot=plan.contract.name,
        split=plan.split,
    )


def convert(plan: Plan, out: Path, workers: int, progress: Callable[[int, int], None]) -> None:
    """Write the data set ``out``, going on from what an earlier run left there (errors as `collect`).

    Args:
        progress: called with (episodes in the data set, episodes).
    """
    job = ConversionJob(
        teacher=plan.layout,
        split="train",
        seed=0,
        frames=None,
        options={},
        episodes_per_shard=16,
        episodes=len(plan.episodes),
        plan=plan,
    )
    collect(job, out, workers, progress)
