"""Passes, seconds and memory of a chunk, the simulator's part included, in a process of its own."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

from world_model.errors import DataError
from world_model.simforcing.cost import Mode

if TYPE_CHECKING:
    from world_model.pretrained import LearnedSimulator


@dataclass(frozen=True)
class ChunkCost:
    """Passes of a chunk, seconds of each, and the most bytes that the process has held."""

    passes: int
    seconds: tuple[float, ...]
    peak: int

    @property
    def median(self) -> float:
        return median(self.seconds)


@dataclass(frozen=True)
class Chunk:
    """What is timed: ``repeats`` chunks after one to warm up, on the CPU."""

    checkpoint: str
    start: str
    """That the simulator begins at."""
    frames: int
    steps: int
    """Of the sampler."""
    repeats: int
    threads: int


def measure(chunk: Chunk, mode: Mode) -> ChunkCost:
    """Of one episode.

    Raises:
        DataError: the process ended without an answer; it has told why.
    """
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe(duplex=False)
    child = context.Process(target=_measure, args=(chunk, mode, there))
    child.start()
    there.close()
    try:
        found: ChunkCost = here.recv()
    except EOFError as error:
        raise DataError(
            f"measuring {chunk.checkpoint} failed in its process, which told why; mend that first"
        ) from error
    finally:
        child.join()
    return found


def _measure(chunk: Chunk, mode: Mode, pipe: Any) -> None:
    import torch

    from simforcing_env.registration import WEIGHTS
    from world_model.pretrained import LearnedSimulator, register_folder
    from world_model.training.step_cost import resident

    torch.set_num_threads(chunk.threads)
    register_folder(WEIGHTS)
    simulator = LearnedSimulator.from_pretrained(chunk.checkpoint)
    passes, seconds = play(simulator, chunk, mode)
    pipe.send(ChunkCost(passes, seconds, resident()))


def play(simulator: LearnedSimulator, chunk: Chunk, mode: Mode) -> tuple[int, tuple[float, ...]]:
    """Passes of a chunk and seconds of each; what is on the pictures does not matter."""
    import numpy as np

    from simforcing_env.sim_source import SOURCES
    from world_model.canvas import canvas_shape
    from world_model.rollout import Rollout
    from world_model.runtime import Runtime

    contract, sampler = simulator.contract, simulator.sampler.with_steps(chunk.steps)
    runtime = Runtime.choose("cpu")
    model: Any = runtime.prepare(simulator.model)
    rollout = Rollout(model, simulator.codec, contract, sampler, simulator.history, runtime=runtime)
    source = None if mode.source == "none" else SOURCES[mode.source](rollout, 1, simulator.sim_starts)
    rows, seeds, rng = np.arange(1), np.zeros(1, np.int64), np.random.default_rng(0)
    frames, proprio = np.zeros((1, *canvas_shape(contract)), np.uint8), np.zeros((1, contract.proprio_dim))
    low, high = contract.action_bounds()
    seconds = []
    with counted_passes(model) as calls:
        for turn in range(chunk.repeats + 1):
            state = rollout.start(frames, proprio, seeds)
            if source is not None:
                source.reset(rows, [chunk.start], seeds)
            calls.clear()
            actions = rng.uniform(low, high, (1, chunk.frames, contract.actions_per_frame, contract.action_dim))
            begun = time.perf_counter()
            sim = None if source is None else source.advance(rows, actions.astype(np.float32))
            rollout.advance(state, actions.astype(np.float32), sim, mode.guidance)
            if turn:
                seconds.append(time.perf_counter() - begun)
    return len(calls), tuple(seconds)


@contextmanager
def counted_passes(model: Any) -> Iterator[list[None]]:
    """A list that grows by one with each pass of this kind of model."""
    calls: list[None] = []
    kind, plain = type(model), type(model).denoise

    def counted(*given: Any) -> Any:
        calls.append(None)
        return plain(*given)

    kind.denoise = counted
    try:
        yield calls
    finally:
        kind.denoise = plain
