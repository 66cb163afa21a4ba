"""Measuring experts: one episode is a trial, one line of a ledger; what stands in the ledger is not run again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from teachers.libero.experts.knobs import Knobs
from world_model.errors import DataError
from world_model.ledger import append_records, read_ledger

AFTER = 10  # control steps after the last action of an expert in which things may still fall into place


@dataclass(frozen=True)
class Trial:
    """Outcome of an episode; ``code`` and ``knobs`` tell which expert it was."""

    suite: str
    task: int
    language: str
    init: int
    seed: int
    success: bool
    steps: int
    knobs: dict[str, float]
    code: str
    limit: int = 700
    """Control steps that it had."""

    @property
    def key(self) -> str:
        """Two trials with the same key have the same outcome."""
        parts = [self.suite, self.task, self.init, self.seed, self.knobs, self.code, self.limit]
        return json.dumps(parts, sort_keys=True)


@dataclass(frozen=True)
class Job:
    """The trials of a task that are still to be run."""

    suite: str
    task: int
    inits: tuple[int, ...]
    seed: int
    steps: int
    knobs: Knobs
    code: str  # `code_hash` when the measurement began


def code_hash() -> str:
    """Short hash of the experts' source: trials of another version do not count as done."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        if path.name != Path(__file__).name:
            digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:12]


def run_trial(world: Any, init: int, knobs: Knobs, generator: np.random.Generator, limit: int) -> tuple[bool, int]:
    """Success by the task's own predicate, and control steps, of one episode of at most ``limit`` steps."""
    from teachers.libero.experts.expert import ScriptedExpert

    world.reset(init)
    expert = ScriptedExpert(world, knobs, generator)
    rest = AFTER
    for step in range(1, limit + 1):
        world.step(expert.act())
        if world.success():
            return True, step
        rest -= int(expert.done)
        if rest < 0:
            return False, step
    return False, limit


def run_job(job: Job, report: Callable[[Trial], None] | None = None) -> list[Trial]:
    """Run the trials of a task; nothing is rendered."""
    from teachers.libero.world import LiberoWorld

    world = LiberoWorld.open(job.suite, job.task)
    trials: list[Trial] = []
    for init in job.inits:
        generator = np.random.default_rng([job.seed, job.task, init])
        success, steps = run_trial(world, init, job.knobs, generator, job.steps)
        knobs = asdict(job.knobs)
        trial = Trial(
            job.suite, job.task, world.language, init, job.seed, success, steps, knobs, job.code, limit=job.steps
        )
        trials.append(trial)
        if report is not None:
            report(trial)
    world.env.close()
    return trials


def run_jobs(jobs: list[Job], workers: int, report: Callable[[Trial], None]) -> None:
    """Run jobs in this process, or in ``workers`` of their own; ``report`` is called in this one."""
    if workers <= 1:
        for job in jobs:
            run_job(job, report)
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        for future in as_completed([pool.submit(run_job, job) for job in jobs]):
            for trial in future.result():
                report(trial)


def read_trials(path: Path) -> dict[str, Trial]:
    """Trials of a ledger by key.

    Raises:
        DataError: a line is damaged.
    """
    trials: dict[str, Trial] = {}
    for number, record in enumerate(read_ledger(path), 1):
        try:
            trial = Trial(**record)
        except TypeError as error:
            raise DataError(f"line {number} of {path} is no trial ({error}); delete that line") from error
        trials[trial.key] = trial
    return trials


def append(path: Path, trial: Trial) -> None:
    """Add a trial to a ledger, on a line of its own."""
    append_records(path, [asdict(trial)])


def by_task(trials: Iterable[Trial]) -> Iterator[tuple[tuple[str, int], list[Trial]]]:
    """Trials of each (suite, task), in order."""
    groups: dict[tuple[str, int], list[Trial]] = {}
    for trial in trials:
        groups.setdefault((trial.suite, trial.task), []).append(trial)
    yield from sorted(groups.items())
