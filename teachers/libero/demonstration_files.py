"""Files of demonstrations: which are there and whole, and what each is about."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from teachers.libero.contract import CONTROL_HZ
from teachers.libero.robosuite import TASKS
from teachers.libero.suites import SUITES, find_task, tasks
from world_model.data.hdf5 import DemonstrationFile
from world_model.errors import DataError, InputError


@dataclass(frozen=True)
class World:
    """What a file's demonstrations are about."""

    name: str
    """Of the contract."""
    level: str
    task: int = 0
    tasks: tuple[str, ...] = field(default=("",))


def demonstration_files(source: Path) -> list[Path]:
    """A file, or all HDF5 files of a folder and the folders in it.

    Raises:
        DataError: there is none.
    """
    if source.is_file():
        return [source]
    found = sorted(p for pattern in ("*.hdf5", "*.h5") for p in source.rglob(pattern))
    if not found:
        raise DataError(f"{source} is no HDF5 file and no folder with any; check the path")
    return found


def whole_files(files: list[Path], damaged: Callable[[Path, DataError], None]) -> tuple[Path, ...]:
    """Read every demonstration of every file; those of a damaged file do not count, and ``damaged`` is told of it.

    ``damaged`` may raise the error that it gets.

    Raises:
        DataError: no file is left.
    """
    whole = []
    for path in files:
        try:
            with DemonstrationFile(path) as file:
                for _ in file:
                    pass
            whole.append(path)
        except DataError as error:
            damaged(path, error)
    if not whole:
        raise DataError(f"all {len(files)} files are damaged; copy them again")
    return tuple(whole)


def world_of(file: DemonstrationFile, suite: str) -> World:
    """Suite and task of a file.

    Raises:
        InputError: they are not known here, or the arm or its controller is another.
    """
    settings = file.settings
    controller = settings.get("controller_configs", {})
    kind = controller.get("type") if isinstance(controller, dict) else None
    robots = settings.get("robots", "Panda")
    robot = (robots if isinstance(robots, str) else ", ".join(robots)).removeprefix("Mounted")
    found = {"robot": robot, "controller": kind or "OSC_POSE", "rate": float(settings.get("control_freq", CONTROL_HZ))}
    wanted = {"robot": "Panda", "controller": "OSC_POSE", "rate": CONTROL_HZ}
    for name, value in wanted.items():
        if found[name] != value:
            raise InputError(f"{file.path} is of {name} {found[name]!r} but only {value!r} is known here; leave it out")
    task = str(settings.get("env_name", ""))
    if task in TASKS:
        return World(f"robosuite_{task.lower()}", "robosuite", 0, (task,))
    suite = file.suite if file.suite in SUITES else suite
    if suite not in SUITES:
        raise InputError(f"{file.path} does not say of which LIBERO suite it is; give --suite")
    return World(suite, suite, find_task(suite, file.task).index, tuple(t.language for t in tasks(suite)))
