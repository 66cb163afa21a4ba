"""Damaged files against the readers: each in a process of its own that may use so much time and memory.

What a reader may do with a damaged file: read it right, or raise a `SimforcingError` that names the file.
"""

from __future__ import annotations

import hashlib
import json
import os
import resource
import select
import shutil
import signal
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, NoReturn

import numpy as np
from numpy.typing import NDArray

from world_model.data.readers.irasim import IrasimReader
from world_model.data.readers.mutations import mutate
from world_model.data.readers.registry import open_reader
from world_model.errors import SimforcingError

Kind = Literal["same", "other", "clear", "unclear", "crash", "hang"]
SECONDS = 10.0
"""After so long a process hangs; on a busy machine, time in which it wants to run and cannot does not count."""
MEMORY = 2 * 1024**3
"""Bytes of data that a process may have."""
LONGEST = 1000  # characters of a clear sentence
SERVED = 200  # seeds that a process serves for


@dataclass(frozen=True)
class Outcome:
    """What came of one damaged file. ``same``: read as the whole one is; ``other``: read, with other contents."""

    sample: str
    seed: int
    file: str
    mutation: str
    kind: Kind
    text: str
    seconds: float
    """Of processor time."""
    memory_mb: float
    """Most memory that was held at a time."""


@dataclass(frozen=True)
class Sample:
    """A whole small data set to damage."""

    name: str
    layout: str
    folder: Path

    def files(self) -> list[Path]:
        """Its files, relative to its folder."""
        return sorted(p.relative_to(self.folder) for p in self.folder.rglob("*") if p.is_file())


def digest(folder: Path, layout: str) -> str:
    """Hash of all that a reader gives of a data set."""
    reader, sum_ = open_reader(folder, layout), hashlib.sha256()
    sum_.update(reader.contract.to_json().encode())
    for index in range(len(reader)):
        numbers = reader.numbers(index)
        labels = [numbers.labels[name] for name in sorted(numbers.labels)]
        arrays: list[NDArray[Any] | None] = [numbers.actions, numbers.proprio, numbers.state, *labels]
        if reader.pictured:
            arrays.append(reader[index].frames)
        if isinstance(reader, IrasimReader) and reader.has_latents(index):
            arrays.append(reader.latents(index))
        sum_.update(numbers.task.encode())
        for array in arrays:
            if array is not None:
                sum_.update(np.ascontiguousarray(array).tobytes())
    return sum_.hexdigest()


def attack(sample: Sample, seed: int, work: Path) -> tuple[str, str, Path]:
    """A copy of the sample in ``work`` with one file damaged; gives the file, the kind of damage and the folder."""
    rng = np.random.default_rng(seed)
    files = sample.files()
    chosen = files[int(rng.integers(len(files)))]
    folder = work / sample.folder.name
    for file in files:
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        if file != chosen:
            os.link(sample.folder / file, folder / file)
    kind, data = mutate((sample.folder / chosen).read_bytes(), chosen.name, rng)
    (folder / chosen).write_bytes(data)
    return str(chosen), kind, folder


def fuzz(
    sample: Sample, seeds: Iterable[int], workers: int = 1, seconds: float = SECONDS, memory: int = MEMORY
) -> Iterator[Outcome]:
    """Damage and read a sample by each seed; outcomes come as they are done.

    The processes are forked from this one, which must not have busy threads. One serves for many seeds, unless it
    crashes or hangs.

    Raises:
        SimforcingError: the sample cannot be read while it is whole.
    """
    waiting = iter(seeds)
    pool: list[_Worker] = []
    try:
        while True:
            for worker in [w for w in pool if w.seed is None]:
                if worker.served >= SERVED or (seed := next(waiting, None)) is None:
                    worker.stop()
                    pool.remove(worker)
                else:
                    worker.give(seed)
            while len(pool) < workers and (seed := next(waiting, None)) is not None:
                pool.append(_Worker(sample, seconds, memory))
                pool[-1].give(seed)
            if not pool:
                return
            due = min(worker.deadline for worker in pool) - time.monotonic()
            ready, _, _ = select.select([worker.answers for worker in pool], [], [], max(0.0, due))
            for worker in list(pool):
                hung = worker.answers not in ready and time.monotonic() > worker.deadline and not worker.goes_on()
                if worker.answers in ready or hung:
                    outcome = worker.outcome(hung)
                    if outcome.kind in ("crash", "hang"):
                        pool.remove(worker)
                    yield outcome
    finally:
        for worker in pool:
            worker.stop()


class _Worker:
    """A process that reads one damaged copy after another; seeds go in and answers come out by pipes."""

    def __init__(self, sample: Sample, seconds: float, memory: int) -> None:
        self.sample, self.seconds = sample, seconds
        self.served, self.deadline = 0, 0.0
        self.seed: int | None = None
        self.work = tempfile.TemporaryDirectory(prefix=".fuzz-", dir=sample.folder.parent)
        seeds, self.seeds = os.pipe()
        self.answers, answers = os.pipe()
        self.process = os.fork()
        if not self.process:
            os.close(self.seeds)
            os.close(self.answers)
            _serve(sample, Path(self.work.name), seeds, answers, memory)
        os.close(seeds)
        os.close(answers)
        if not self._answer(10 * seconds):
            self.stop()
            raise SimforcingError(f"sample {sample.name} cannot be read while it is whole; mend it first")

    def give(self, seed: int) -> None:
        """Let the process work on a seed."""
        self.seed, self.served = seed, self.served + 1
        self.started = _clock(self.process)[0]
        self.deadline = time.monotonic() + self.seconds
        os.write(self.seeds, seed.to_bytes(8, "little"))

    def goes_on(self) -> bool:
        """Whether a process past its deadline has answered meanwhile, or only waited for a busy machine; the deadline
        is moved if so."""
        used, running = _clock(self.process)
        left = self.seconds - (used - self.started)
        answered = bool(select.select([self.answers], [], [], 0)[0])  # looked at last: it may have come just now
        if not answered and (not running or left <= 0):
            return False
        self.deadline = time.monotonic() + left
        return True

    def outcome(self, hung: bool) -> Outcome:
        """What came of the seed. After a crash or a hang the process is gone."""
        assert self.seed is not None
        seed, self.seed = self.seed, None
        told = {} if hung else self._answer(self.seconds)
        if told:
            return Outcome(self.sample.name, seed, **told)
        file, mutation, _ = attack(self.sample, seed, Path(self.work.name) / "again")
        status = self.stop()
        kind: Kind = "hang" if hung else "crash"
        how = f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"exit {os.WEXITSTATUS(status)}"
        text = f"no answer after {self.seconds:g} s" if hung else f"the process ended by {how}"
        return Outcome(self.sample.name, seed, file, mutation, kind, text, self.seconds if hung else 0.0, 0.0)

    def stop(self) -> int:
        """End the process, and give the status that it ended with."""
        ended, status = os.waitpid(self.process, os.WNOHANG)
        if not ended:
            os.kill(self.process, signal.SIGKILL)
            _, status = os.waitpid(self.process, 0)
        os.close(self.seeds)
        os.close(self.answers)
        self.work.cleanup()
        return status

    def _answer(self, seconds: float) -> dict[str, Any]:
        """The next line that the process writes; empty if it ends, or waits longer than that."""
        text = b""
        while not text.endswith(b"\n"):
            if not select.select([self.answers], [], [], seconds)[0] or not (part := os.read(self.answers, 65536)):
                return {}
            text += part
        return dict(json.loads(text))


def _serve(sample: Sample, work: Path, seeds: int, answers: int, memory: int) -> NoReturn:
    """What the process does: tell that the whole sample can be read, then work on seeds until there are no more."""
    status = 1
    try:
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1)
        os.dup2(silence, 2)  # decoders complain there
        resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        whole = digest(sample.folder, sample.layout)
        os.write(answers, b'{"whole": true}\n')
        while number := os.read(seeds, 8):
            told = _served(sample, int.from_bytes(number, "little"), work, whole)
            os.write(answers, f"{json.dumps(told)}\n".encode())
        status = 0
    finally:
        os._exit(status)


def _served(sample: Sample, seed: int, work: Path, whole: str) -> dict[str, Any]:
    place = work / str(seed)
    file, mutation, folder = attack(sample, seed, place)
    start = sum(os.times()[:4])  # with what children used that were waited for
    kind, text = _read(folder, sample.layout, whole)
    used = sum(os.times()[:4]) - start
    who = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    peak = max(resource.getrusage(one).ru_maxrss for one in who) / 1024
    shutil.rmtree(place)
    return {
        "file": file,
        "mutation": mutation,
        "kind": kind,
        "text": text.replace(f"{place}/", "")[:3000],
        "seconds": round(used, 3),
        "memory_mb": round(peak, 1),
    }


def _read(folder: Path, layout: str, whole: str) -> tuple[Kind, str]:
    try:
        found = digest(folder, layout)
    except SimforcingError as error:
        text = str(error)
        clear = str(folder) in text and "\n" not in text and "; " in text and len(text) <= LONGEST
        return ("clear" if clear else "unclear"), text
    except BaseException as error:
        return "unclear", f"{type(error).__name__}: {error}"
    return ("same" if found == whole else "other"), ""


def _clock(process: int) -> tuple[float, bool]:
    """Processor time of a process and its children (s), and whether one runs, wants to, or waits for the disk."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0, False
    used, running = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK"), fields[0] in "RD"
    for more, goes in map(_clock, _children(process)):
        used, running = used + more, running or goes
    return used, running


def _children(process: int) -> list[int]:
    """Processes that it has started and that are there; none where the kernel does not tell."""
    try:
        return [int(p) for p in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    except OSError:
        return []


def to_line(outcome: Outcome) -> str:
    """An outcome as a line of JSON."""
    return json.dumps(asdict(outcome))


def from_line(line: str) -> Outcome:
    """The inverse of `to_line`."""
    return Outcome(**json.loads(line))
