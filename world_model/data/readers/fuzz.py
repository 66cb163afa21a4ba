"""Damaged files against the readers: each in a process of its own that may use so much time and memory.

What a reader may do with a damaged file: read it right, or raise a `SimforcingError` that names the file.
"""

from __future__ import annotations

import hashlib
import json
import os
import resource
import select
import signal
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

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

    The processes are forked from this one, which must not have busy threads.
    """
    whole = _inside(lambda: digest(sample.folder, sample.layout), seconds=60 * seconds, memory=memory)
    if whole["kind"] != "done":
        raise SimforcingError(f"sample {sample.name} cannot be read while it is whole ({whole['text']}); mend it first")
    running: dict[int, _Child] = {}
    waiting = iter(seeds)
    while True:
        while len(running) < workers and (seed := next(waiting, None)) is not None:
            child = _Child(sample, seed, str(whole["text"]), seconds, memory)
            running[child.pipe] = child
        if not running:
            return
        due = min(child.deadline for child in running.values()) - time.monotonic()
        ready, _, _ = select.select(list(running), [], [], max(0.0, due))
        for pipe in ready:
            yield running.pop(pipe).outcome()
        for pipe, child in list(running.items()):
            if time.monotonic() > child.deadline and not child.goes_on():
                os.kill(child.process, signal.SIGKILL)
                yield running.pop(pipe).outcome(hung=True)


class _Child:
    """One process that reads one damaged copy."""

    def __init__(self, sample: Sample, seed: int, whole: str, seconds: float, memory: int) -> None:
        self.sample, self.seed = sample, seed
        self.work = tempfile.TemporaryDirectory(prefix=".fuzz-", dir=sample.folder.parent)
        self.file, self.mutation, folder = attack(sample, seed, Path(self.work.name))
        self.seconds, self.deadline = seconds, time.monotonic() + seconds
        self.process, self.pipe = _fork(lambda: _read(folder, sample.layout, whole), memory)

    def goes_on(self) -> bool:
        """Whether a process past its deadline has only waited for a busy machine; its deadline is moved if so."""
        used, running = _clock(self.process)
        if not running or used > self.seconds:
            return False
        self.deadline = time.monotonic() + self.seconds - used
        return True

    def outcome(self, hung: bool = False) -> Outcome:
        """Collect what the process has told."""
        told = _told(self.process, self.pipe)
        self.work.cleanup()
        kind: Kind = "hang" if hung else told["kind"]
        text = str(told["text"]).replace(f"{self.work.name}/", "")
        used = self.seconds if hung else float(told["seconds"])
        return Outcome(
            self.sample.name, self.seed, self.file, self.mutation, kind, text, used, float(told["memory_mb"])
        )


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


def _inside(work: Callable[[], str], seconds: float, memory: int) -> dict[str, Any]:
    """The text of ``work`` from a process of its own."""
    process, pipe = _fork(lambda: ("done", work()), memory)
    select.select([pipe], [], [], seconds)
    return _told(process, pipe)


def _fork(work: Callable[[], tuple[str, str]], memory: int) -> tuple[int, int]:
    """Start a process that tells ``work``'s answer through a pipe; gives its number and the pipe."""
    out, into = os.pipe()
    process = os.fork()
    if process:
        os.close(into)
        return process, out
    status = 1
    try:
        os.close(out)
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1)
        os.dup2(silence, 2)  # decoders complain there
        resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        kind, text = work()
        usage = resource.getrusage(resource.RUSAGE_SELF)
        used, peak = usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024
        told = {"kind": kind, "text": text[:3000], "seconds": round(used, 3), "memory_mb": round(peak, 1)}
        os.write(into, json.dumps(told).encode())
        status = 0
    finally:
        os._exit(status)


def _told(process: int, pipe: int) -> dict[str, Any]:
    parts = []
    while part := os.read(pipe, 65536):
        parts.append(part)
    os.close(pipe)
    _, status = os.waitpid(process, 0)
    if not parts:
        how = f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"exit {os.WEXITSTATUS(status)}"
        return {"kind": "crash", "text": f"the process ended by {how}", "seconds": 0.0, "memory_mb": 0.0}
    return dict(json.loads(b"".join(parts)))


def _clock(process: int) -> tuple[float, bool]:
    """Processor time of a process (s), and whether it runs or wants to."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0, False
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"), fields[0] == "R"


def to_line(outcome: Outcome) -> str:
    """An outcome as a line of JSON."""
    return json.dumps(asdict(outcome))


def from_line(line: str) -> Outcome:
    """The inverse of `to_line`."""
    return Outcome(**json.loads(line))
