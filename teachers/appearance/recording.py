"""The other side of a recorded data set: its actions, played again in the world's other domain."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from teachers.appearance.paired import play
from teachers.appearance.worlds import two_looks
from teachers.collection import Job, collect
from teachers.recording import Split
from world_model.data.episode import Episode
from world_model.data.lerobot.layout import DatasetSpec
from world_model.data.lerobot.reader import LeRobotDataset, read_dataset
from world_model.data.pairs import DOMAINS, Domain, Seeded, pair_hash, write_pairs
from world_model.errors import DataError, InputError

PER_SHARD = 8  # episodes in a file
SEEDS_PER_RUN = 1_000_000  # episodes of one seed have appearances that no other seed has


@dataclass(frozen=True)
class TwinJob(Job):
    """To play the episodes of the data set ``source`` in the other domain of the world that ``teacher`` names."""

    source: Path = Path()
    looks: int | None = None
    """Number of appearances that the episodes share by turns; without it each has its own."""

    def recorder(self) -> TwinRecorder:
        return TwinRecorder(self.teacher, self.source, self.split, self.seed, self.looks)


class TwinRecorder:
    """Plays the episodes of a data set in the other domain, each in its appearance.

    Raises:
        InputError: the world has only one domain.
        DataError: the data set is damaged.
    """

    episodes_per_shard = PER_SHARD

    def __init__(self, world: str, source: Path, split: Split, seed: int, looks: int | None = None) -> None:
        self._world, self._seed, self._looks = world, seed, looks
        self._source = read_dataset(source)
        self._twin = two_looks(world).make_twin(self._source.contract)
        notes = self._twin.notes
        self._keeps_state = self._source.state_names == notes.state_names
        self.spec = DatasetSpec(
            contract=self._source.contract,
            state_names=notes.state_names if self._keeps_state else (),
            label_names=notes.label_names,
            tasks=tuple(self._source.tasks),
            robot=str(self._source.info.get("robot_type", "unknown")),
            split=split,
            seed=seed,
        )

    def describe(self) -> dict[str, Any]:
        return {"world": self._world, "seed": self._seed, "looks": self._looks, "twin_of": actions_hash(self._source)}

    def length(self, index: int) -> int:
        return int(self._source.lengths[index])

    def record(self, index: int) -> Episode:
        source = self._source
        self._twin.dress(appearance_seed(self._seed, index, self._looks))
        task = int(source.columns(index)["task_index"][0])
        twin, start, behaviour = self._twin, source.starts[index], source.behaviours[index]
        episode = play(twin.teacher, start, source.actions(index), behaviour, task, twin.notes)
        return episode if self._keeps_state else dataclasses.replace(episode, state=None)

    def look(self, index: int) -> Seeded:
        """The appearance of an episode."""
        seed = appearance_seed(self._seed, index, self._looks)
        return Seeded(seed, self._twin.dress(seed))


def appearance_seed(seed: int, episode: int, looks: int | None = None) -> int:
    """Seed of an episode's appearance in a run of that seed: one of ``looks``, or its own."""
    return seed * SEEDS_PER_RUN + (episode if looks is None else episode % looks)


def record_pairs(
    source: Path,
    out: Path,
    seed: int,
    workers: int,
    progress: Callable[[int, int], None],
    per_shard: int = PER_SHARD,
    looks: int | None = None,
    episodes: int | None = None,
) -> Path:
    """Make a folder of pairs from a recorded data set: its own episodes on one side, replays in the other domain.

    A run that was killed goes on with the same arguments.

    Args:
        source: a finished data set of a world that has two looks; its files are linked, or copied to another disk.
        progress: called with (episodes played, episodes to play).
        looks: number of appearances that the episodes share by turns; without it each has its own.
        episodes: the first so many of the source are played again, all of them without it.

    Raises:
        InputError: the world has only one domain, ``looks`` is below 1, or a start that it does not know.
        DataError: the data set is damaged or still being recorded, or ``out`` holds something else.
    """
    if looks is not None and looks < 1:
        raise InputError(f"looks is {looks} but there must be at least 1; leave it out for one look an episode")
    recorded = read_dataset(source)
    if (source / ".staging").exists():
        raise DataError(f"{source} is still being recorded; let its recording come to its end first")
    world = recorded.contract.name
    looks_of = two_looks(world)
    own = looks_of.source
    if _teacher_of(source) == looks_of.twin:
        raise InputError(
            f"{source} was recorded from {looks_of.twin!r}, which plays the other side; "
            f"record {looks_of.teacher!r} first"
        )
    other: Domain = DOMAINS[1 - DOMAINS.index(own)]
    _link(source, out / own)
    count = len(recorded) if episodes is None else min(episodes, len(recorded))
    split = next(iter(recorded.info.get("splits", {"train": ""})))
    job = TwinJob(
        *(world, split, seed, None, {}),
        episodes_per_shard=per_shard,
        episodes=count,
        source=out / own,
        looks=looks,
    )
    collect(job, out / other, workers, progress)
    recorder = job.recorder()
    write_pairs(out, world, own, [recorder.look(i) for i in range(count)])
    return out


def actions_hash(dataset: LeRobotDataset) -> str:
    """Hash of all starts and actions of a data set."""
    digest = hashlib.sha256()
    for number in range(len(dataset)):
        digest.update(pair_hash(dataset.starts[number], dataset.actions(number)).encode())
    return digest.hexdigest()[:16]


def _teacher_of(dataset: Path) -> str | None:
    """Whom a data set was recorded from, if it says so."""
    path = dataset / "meta" / "collection.json"
    return json.loads(path.read_text()).get("teacher") if path.is_file() else None


def _link(source: Path, target: Path) -> None:
    """The same files under another name; they are never changed after they were written."""
    if target.exists():
        if actions_hash(read_dataset(target)) != actions_hash(read_dataset(source)):
            raise DataError(f"{target} holds other episodes than {source}; choose another --out")
        return
    temporary = target.with_name(f".{target.name}.{os.getpid()}")
    shutil.copytree(source, temporary, copy_function=_link_or_copy)
    temporary.rename(target)


def _link_or_copy(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # another disk
        shutil.copy2(source, target)
