"""Recorded data of one layout become a data set of another. To `lerobot` (v3.0 with our contract) a killed conversion
goes on with the same command; other layouts are written whole or not at all.

    simforcing data convert bridge_v2_256 data/bridge --size 64 --split order
    simforcing data convert droid_ctrlworld/droid_subset data/droid --size 64 --cameras camera_0 --split order

`simforcing train` reads what `--to lerobot` writes. What a layout cannot hold is said; what it cannot hold at all is
refused. Episodes of one frame, which have no action, are left out of `lerobot` and named.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from simforcing_env.commands.checks import at_least
from world_model.errors import DataError, InputError, SimforcingError

if TYPE_CHECKING:
    from world_model.contract import Contract
    from world_model.data.readers.base import Reader, View
    from world_model.data.readers.contracts import Measured

OURS = "lerobot"


@dataclass(frozen=True)
class Config:
    """What to read, and what to write where."""

    source: Annotated[Path, tyro.conf.Positional]
    """A data set's folder or file; `simforcing data inspect` shows what it holds."""
    out: Annotated[Path, tyro.conf.Positional]
    """Folder to write; with --split order or stored, one folder in it for each split."""
    to: str = OURS
    """Layout to write: lerobot, lerobot-v2, irasim, mp4-npz, rlds."""
    layout: str | None = None
    """Layout of the source, where it is not to be found out."""
    size: str = ""
    """Height and width of every picture, such as 64 or 96x160; as stored without it."""
    cameras: tuple[str, ...] = ()
    """Cameras to keep; all without it."""
    gripper: Literal["plus_closes", "plus_opens"] | None = None
    """What more of the gripper's number means, where the source does not say and `data inspect` warns of a guess."""
    split: Literal["all", "order", "stored"] = "all"
    """One data set; or train, val and test by stored order (last tenth test, the tenth before it val); or those that
    the source tells."""
    skip_damaged: bool = False
    """Leave out episodes that cannot be read, and name them; without it the first of them ends the command."""
    workers: int = 1
    """Processes that decode and encode, for --to lerobot."""


def run(config: Config) -> None:
    """Measure the numbers, fit the contract, and write, with progress bars."""
    at_least(1, workers=config.workers)
    from simforcing_env.data_report import folded
    from world_model.data.readers.base import View
    from world_model.data.readers.contracts import fitted_contract, split_by_order
    from world_model.data.readers.registry import find_sets, open_reader

    if config.layout is None:
        found = find_sets(config.source)
        if len(found) > 1:
            places = ", ".join(str(f.path) for f in found)
            raise DataError(f"{config.source} holds {len(found)} data sets; give one of {places}")
        path, layout = found[0].path, found[0].layout
    else:
        path, layout = config.source, config.layout
    view = View(size_of(config.size), config.cameras, config.gripper)
    reader = open_reader(path, layout, view)
    if not reader.pictured:
        mend = reader.warnings[0].partition("; ")[2]
        raise DataError(f"{path} holds no pictures, so nothing can be converted; {mend}")
    chosen, measured = _readable(reader, config.skip_damaged, 2 if config.to == OURS else 1)
    splits = {"all": ["train"] * len(chosen), "order": split_by_order(len(chosen))}.get(
        config.split, [reader.splits[i] or "train" for i in chosen]
    )
    training = [i for i, split in enumerate(splits) if split == "train"]
    contract = fitted_contract(reader, measured, measured.part(training) if training else None)
    written = _write(config, reader, view, contract, measured, chosen, splits)
    for warning in folded([*reader.warnings, *written]):
        print(f"warning: {warning}", file=sys.stderr)


def size_of(text: str) -> tuple[int, int] | None:
    """Height and width from "64" or "96x160"; None for "".

    Raises:
        InputError: it is something else.
    """
    if not text:
        return None
    sides = text.lower().split("x")
    if len(sides) > 2 or not all(side.isdigit() and 0 < int(side) <= 4096 for side in sides):
        raise InputError(f"--size is {text!r} but must be such as 64 or 96x160 (height x width), up to 4096")
    return int(sides[0]), int(sides[-1])


def _readable(reader: Reader, skip: bool, shortest: int) -> tuple[list[int], Measured]:
    """Episodes to convert and their numbers; those that are damaged or too short are named and left out."""
    from simforcing_env.evaluation.progress import counting
    from world_model.data.readers.contracts import Measured

    chosen, read = [], []
    with counting("checking episodes", len(reader)) as report:
        for index, name in enumerate(reader.names):
            try:
                numbers = reader.numbers(index)
                if skip:
                    reader.pictures(index)
                if len(numbers) >= shortest:
                    chosen.append(index)
                    read.append(numbers)
                else:
                    print(f"left out: episode {name} has {len(numbers)} frame and no action", file=sys.stderr)
            except SimforcingError as error:
                if not skip:
                    raise type(error)(f"{error}; --skip-damaged leaves such episodes out") from error
                print(f"left out: {error}", file=sys.stderr)
            report(index + 1)
    if not chosen:
        raise DataError(f"{reader.path} holds no episode that can be converted; see 'simforcing data inspect'")
    return chosen, Measured.of(read)


def _write(
    config: Config,
    reader: Reader,
    view: View,
    contract: Contract,
    measured: Measured,
    chosen: list[int],
    splits: list[str],
) -> list[str]:
    """Write the data set or sets; gives the writer's warnings."""
    tasks = tuple(dict.fromkeys(measured.tasks))
    if config.to != OURS:
        return _write_other(config, reader, contract, tasks, chosen, splits)
    from simforcing_env.evaluation.progress import counting
    from teachers.conversion import Plan, convert

    plan = Plan(reader.path, reader.layout, view, contract, tuple(chosen), measured.lengths, tasks)
    for split in dict.fromkeys(splits):
        part = [i for i, of in enumerate(splits) if of == split]
        own = replace(
            plan,
            episodes=tuple(chosen[i] for i in part),
            lengths=tuple(measured.lengths[i] for i in part),
            split=split,
        )
        out = config.out if config.split == "all" else config.out / split
        with counting(out.name, len(part)) as report:
            convert(own, out, config.workers, lambda done, total: report(done))
        print(f"{out}: {len(part)} episodes, {sum(own.lengths)} frames, contract {contract.name} {contract.hash}")
    return []


def _write_other(
    config: Config, reader: Reader, contract: Contract, tasks: tuple[str, ...], chosen: list[int], splits: list[str]
) -> list[str]:
    from simforcing_env.evaluation.progress import counting
    from world_model.atomic import replacing_folder
    from world_model.data.writers.base import Origin
    from world_model.data.writers.registry import make_writer

    origin = Origin(contract, reader.state_names, reader.label_names, tasks)
    if config.out.exists() and any(config.out.iterdir()):
        raise InputError(f"{config.out} is not empty; choose another folder")
    with replacing_folder(config.out) as folder, counting(config.out.name, len(chosen)) as report:
        writer = make_writer(config.to, folder, origin)
        for done, (index, split) in enumerate(zip(chosen, splits, strict=True), 1):
            episode = replace(reader[index], task=tasks.index(reader.numbers(index).task))
            writer.add(episode, reader.names[index], split if config.split != "all" else reader.splits[index])
            report(done)
        writer.close()
    print(f"{config.out}: {len(chosen)} episodes as {config.to}")
    return writer.warnings
