"""Recording a data set in parallel processes, so that a kill at any moment costs seconds.

Episodes are pure functions of their number, so shards are independent: workers write them into ``.staging`` in any
order, and this process moves them into the data set in order.
"""

from __future__ import annotations

import fcntl
import itertools
import json
import os
import shutil
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any, get_args

from teachers.recording import Recorder, Split, make_recorder
from world_model.contract import first_difference
from world_model.data.lerobot.layout import DatasetSpec, staged_paths
from world_model.data.lerobot.shard import ShardWriter
from world_model.data.lerobot.writer import DatasetWriter, write_text
from world_model.errors import DataError, InputError, SimforcingError


@dataclass(frozen=True)
class Job:
    """What to record."""

    teacher: str
    split: Split
    seed: int
    frames: int | None
    """At least so many frames. The last episode is whole; the last file too, where lengths are not known beforehand."""
    options: Mapping[str, Any]
    """Settings of the teacher's recorder."""
    episodes_per_shard: int = 32
    """Episodes in a file; a kill costs at most a file per worker."""
    episodes: int | None = None
    """Just so many episodes, in the place of ``frames``."""

    def recorder(self) -> Recorder:
        return make_recorder(self.teacher, self.split, self.seed, self.options)


@dataclass(frozen=True)
class Shard:
    """Episodes ``first_episode`` to ``last_episode`` (exclusive)."""

    number: int
    first_episode: int
    last_episode: int


def collect(job: Job, out: Path, workers: int, progress: Callable[[int, int], None]) -> None:
    """Record ``job`` into the LeRobot folder ``out``, going on from whatever an earlier run left there.

    Args:
        progress: called with (frames in the data set, frames planned) whenever a shard is in; with episodes where
            the job counts those.

    Raises:
        InputError: a count is not positive or missing, a setting of the recorder's is bad, or ``out`` is no place to
            write or taken by another process.
        DataError: ``out`` holds something else.
        SimforcingError: a worker died.
    """
    _check(job, workers)
    recorder = job.recorder()  # before anything is written: it refuses bad settings
    with _alone(out):
        count = {"frames": job.frames} if job.episodes is None else {"episodes": job.episodes}
        settings = {"teacher": job.teacher, **count, "episodes_per_shard": job.episodes_per_shard}
        _claim(out, {**settings, **recorder.describe()})
        shards, total = plan_shards(recorder, job)
        writer, staging = DatasetWriter(out, recorder.spec), out / ".staging"
        _clean(staging, recorder.spec, writer.shards)

        def done() -> int:
            return writer.frames if job.episodes is None else writer.episodes

        progress(done(), total)
        missing = (s for s in shards if s.number >= writer.shards and not staged(staging, s.number).is_dir())
        with closing(_finished(job, staging, missing, workers)) as finished:
            for _ in finished:
                while done() < total and (ready := staged(staging, writer.shards)).is_dir():
                    writer.commit(ready)
                    ready.rmdir()
                    progress(done(), total)
                if done() >= total:
                    break
        writer.write_stats()
        writer.write_info()
        shutil.rmtree(staging)


def plan_shards(recorder: Recorder, job: Job) -> tuple[Iterable[Shard], int]:
    """The shards of a job, and how many frames (or episodes, where it counts those) they must hold.

    There is no end of shards where only recording tells how long episodes are.
    """
    size = job.episodes_per_shard
    if job.episodes is not None:
        firsts = range(0, job.episodes, size)
        return [Shard(i, first, min(first + size, job.episodes)) for i, first in enumerate(firsts)], job.episodes
    assert job.frames is not None
    episode, frames = 0, 0
    while frames < job.frames:
        length = recorder.length(episode)
        if length is None:
            return (Shard(i, size * i, size * (i + 1)) for i in itertools.count()), job.frames
        episode, frames = episode + 1, frames + length
    return plan_shards(recorder, replace(job, episodes=episode))[0], frames


def _check(job: Job, workers: int) -> None:
    if (job.frames is None) == (job.episodes is None):
        raise InputError(f"collect got {job.frames} frames and {job.episodes} episodes; give the number of one of them")
    count = job.episodes if job.frames is None else job.frames
    if count is None or count < 1 or workers < 1:
        unit = "frame" if job.episodes is None else "episode"
        raise InputError(f"collect needs at least 1 {unit} and 1 worker, not {count} and {workers}; raise them")
    if job.seed < 0:
        raise InputError(f"seed is {job.seed} but must not be negative; use a number from 0")
    if job.split not in get_args(Split):
        raise InputError(f"there is no split {job.split!r}; use {', '.join(get_args(Split))}")


def staged(staging: Path, number: int) -> Path:
    """Folder of a shard that is recorded but not in the data set yet."""
    return staging / f"shard-{number:06d}"


def _finished(job: Job, staging: Path, missing: Iterator[Shard], workers: int) -> Generator[None]:
    """Record the shards that are missing, a few ahead; yields whenever one more may be there."""
    yield
    ahead = list(itertools.islice(missing, 2 * workers))
    if not ahead:
        return
    context = get_context("spawn")
    with ProcessPoolExecutor(min(workers, len(ahead)), context, _start_worker, (job, os.getpid())) as pool:
        pending: set[Future[None]] = {pool.submit(_record, staging, shard) for shard in ahead}
        try:
            while pending:
                done, pending = wait(pending, return_when=FIRST_COMPLETED)
                for future in done:
                    future.result()
                yield
                pending |= {pool.submit(_record, staging, shard) for shard in itertools.islice(missing, len(done))}
        except BrokenProcessPool as error:
            raise SimforcingError(
                "a recording process died, maybe for want of memory; run the same command again to go on"
            ) from error
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


_worker_recorder: Recorder | None = None


def _start_worker(job: Job, parent: int) -> None:
    global _worker_recorder
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    _worker_recorder = job.recorder()


def _end_with(parent: int) -> None:
    """A killed parent cannot stop its workers, and they would wait for it for ever."""
    while os.getppid() == parent:
        time.sleep(0.2)
    os._exit(1)


def _record(staging: Path, shard: Shard) -> None:
    assert _worker_recorder is not None
    temporary = staging / f"part-{shard.number:06d}-{os.getpid()}"
    temporary.mkdir()
    with ShardWriter(temporary, _worker_recorder.spec, shard.number, shard.first_episode) as writer:
        for index in range(shard.first_episode, shard.last_episode):
            writer.add(_worker_recorder.record(index))
    try:
        temporary.rename(staged(staging, shard.number))
    except OSError:  # a worker of a killed run has just put the same shard there
        if not staged(staging, shard.number).is_dir():
            raise
        shutil.rmtree(temporary)


def _claim(out: Path, description: dict[str, Any]) -> None:
    """Write down what is recorded here, or make sure that it is the same as before."""
    path = out / "meta" / "collection.json"
    wanted = json.loads(json.dumps(description))
    if not path.exists():
        strangers = [p.name for p in out.iterdir() if p.name not in (".lock", ".staging", "meta")]
        if strangers or (out / "meta" / "info.json").exists():
            raise DataError(f"{out} is not empty and not a recording of ours; choose another --out")
        write_text(path, json.dumps(wanted, indent=2))
        return
    difference = first_difference(json.loads(path.read_text()), wanted)
    if difference is not None:
        field, there, here = difference
        raise DataError(
            f"{out} holds a recording with {field} {there!r}, not {here!r}; choose another --out or the same settings"
        )


def _clean(staging: Path, spec: DatasetSpec, committed: int) -> None:
    """Keep whole staged shards that are still to come; remove the rest of a killed run."""
    staging.mkdir(exist_ok=True)
    for folder in staging.iterdir():
        kind, number = folder.name.split("-")[:2]
        whole = kind == "shard" and all(path.is_file() for path in staged_paths(folder, spec).values())
        if not whole or int(number) < committed:
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _alone(out: Path) -> Iterator[None]:
    """Hold ``out`` against a second recording at the same time; the system lets go when this process ends.

    Raises:
        InputError: another process holds it, or no folder can be made there.
    """
    path = out / ".lock"
    try:
        out.mkdir(parents=True, exist_ok=True)
        lock = path.open("w")
    except OSError as error:
        raise InputError(f"--out {out} cannot be written to ({error.strerror}); choose another folder") from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise InputError(f"another process records into {out}; wait for it or choose another --out") from error
        # One that has just ended removes its file: what is locked then is a file that nobody else will ever find.
        if not _stands_at(path, lock.fileno()):
            raise InputError(f"another process has just recorded into {out}; run the command again")
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def _stands_at(path: Path, descriptor: int) -> bool:
    """Whether an open file is the one that has this name now."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False
