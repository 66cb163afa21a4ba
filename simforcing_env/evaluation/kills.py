"""Processes that are killed at random moments and started anew: recording a data set, training a model."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from world_model.errors import SimforcingError
from world_model.results import Metric

SMALL = (
    "train.batch=2",
    "train.precision=no",  # accelerate allows one precision in a process
    "train.sequences=2",
    "train.overfit_steps=0",
    "train.validation_clips=2",
    "train.validation_frames=4",
    'train.model.unet={"width":16,"deep_width":32,"deep_blocks":1}',
)
"""Settings of a training that takes seconds."""
_LIBRARIES = ["simforcing_env.commands.train", "teachers.pusht.recording", "world_model.training.run"]


@dataclass(frozen=True)
class Work:
    """Something that can be killed: what a child process does in a folder, how much of it is safe, what came out."""

    name: str
    unit: str
    child: Callable[..., None]
    arguments: tuple[Any, ...]
    safe: Callable[[Path], int]
    result: Callable[[Path], object]


def killed(work: Work, folder: Path, kills: int, moments: random.Random) -> dict[str, Metric]:
    """Do ``work`` undisturbed in ``folder/whole``, then in others until ``kills`` living processes were killed.

    Raises:
        SimforcingError: a process ended with an error, be it the first or one that goes on.
    """
    from tqdm import tqdm

    _ended(_child(time.sleep, 0))  # loads the libraries
    whole, began = folder / "whole", time.monotonic()
    child = _child(work.child, whole, *work.arguments)
    while child.is_alive() and not work.safe(whole):
        time.sleep(0.01)
    starting = time.monotonic() - began
    _ended(child)
    piece = (time.monotonic() - began - starting) / kills
    expected, hit, lost = work.result(whole), 0, 0
    equal: list[bool] = []
    with tqdm(total=kills, desc=f"killing {work.name}") as bar:
        while hit < kills:
            out = folder / str(len(equal))
            while True:
                child = _child(work.child, out, *work.arguments)
                if hit == kills:
                    break
                child.join(moments.uniform(0, starting + 2 * piece))
                before = work.safe(out)
                child.kill()
                child.join()
                if child.exitcode != -9:  # it has ended before
                    break
                hit, lost = hit + 1, lost + max(0, before - work.safe(out))
                bar.update()
            _ended(child)
            equal.append(work.result(out) == expected)
    return {
        f"{work.name}_kills": Metric(hit, n=hit + len(equal), unit="kills"),
        f"{work.name}_lost": Metric(lost, n=hit, unit=work.unit),
        f"{work.name}_equal": Metric(sum(equal) / len(equal), n=len(equal)),
    }


def recording(frames: int, seed: int) -> Work:
    """Records Push-T."""
    return Work("collect", "frames", _record, (frames, seed), _frames, _files)


def training(data: Path, steps: int, seed: int) -> Work:
    """Trains on a data set and writes a checkpoint after every step."""
    sets: tuple[str, ...] = (*SMALL, "train.checkpoint_seconds=0", "train.validate_seconds=1e9")
    sets += (f"train.steps={steps}", f"train.seed={seed}")
    return Work("train", "steps", _train, (data, sets), _step, _state)


def _child(target: Callable[..., None], *arguments: Any) -> Any:
    """A child process, forked from one that holds the libraries and nothing else."""
    context = get_context("forkserver")
    context.set_forkserver_preload(_LIBRARIES)
    child = context.Process(target=target, args=arguments)
    child.start()
    return child


def _ended(child: Any) -> None:
    child.join()
    if child.exitcode:
        raise SimforcingError(f"a process ended with status {child.exitcode} though nobody killed it; see above")


def _record(out: Path, frames: int, seed: int) -> None:
    """In a child process: record a data set in files of two episodes, or go on."""
    from teachers.collection import Job, collect

    job = Job("pusht", "train", seed, frames, {"size": 64}, episodes_per_shard=2)
    collect(job, out, 1, lambda done, total: None)


def _frames(out: Path) -> int:
    """Frames in a data set, which opens at any time."""
    from world_model.data.lerobot.reader import read_dataset

    return read_dataset(out).total_frames if (out / "meta" / "info.json").exists() else 0


def _files(out: Path) -> dict[str, bytes]:
    """All files of a data set."""
    return {str(p.relative_to(out)): p.read_bytes() for p in out.rglob("*") if p.is_file()}


def _train(out: Path, data: Path, sets: tuple[str, ...]) -> None:
    """In a child process: train, or go on."""
    import contextlib
    import os

    from simforcing_env.commands import train as command

    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere):
        command.run(command.Config(dataset=(data,), held_out=data, out=out, set=sets, device="cpu"))


def _step(out: Path) -> int:
    """Step of the last checkpoint; what is exported for users beside it opens at any time."""
    from world_model.checkpoint import open_folder
    from world_model.training.state import load_state

    if (out / "checkpoint").exists():
        open_folder(out / "checkpoint")
    return int(load_state(out / "state.pt")["step"]) if (out / "state.pt").exists() else 0


def _state(out: Path) -> object:
    """Weights, moving average and optimiser, every tensor as its bytes."""
    from torch import Tensor

    from world_model.training.state import load_state

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: plain(item) for key, item in value.items()}
        if isinstance(value, list):
            return [plain(item) for item in value]
        return value.numpy().tobytes() if isinstance(value, Tensor) else value

    state = load_state(out / "state.pt")
    return [plain(state[name]) for name in ("model", "average", "optimizer")]
