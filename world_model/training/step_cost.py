"""What a training step of IRASim costs, beside the published operations written out one by one.

Both take the same shapes, data and optimiser. Times of the two are taken in turn in one process; memory is the peak of
a process of its own, or what the GPU's allocator counts.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import torch
from torch import nn

from world_model.interface import Clip
from world_model.models.irasim import Irasim, irasim
from world_model.models.irasim.restated import Restated

Who = Literal["ours", "plain"]
WHO: tuple[Who, ...] = ("ours", "plain")


@dataclass(frozen=True)
class Shape:
    """One training step; the defaults are RT-1's and Bridge's."""

    size: str = "S"
    grid: tuple[int, int] = (32, 40)
    frames: int = 16
    batch: int = 1
    precision: Literal["float32", "bfloat16"] = "float32"
    device: str = "cpu"


def make_step(who: Who, shape: Shape) -> Callable[[], None]:
    """Noise, forward pass, loss on new frames, backward pass, clipping and AdamW, to be called again and again."""
    config = irasim(shape.size, grid=shape.grid, frames=shape.frames)
    generator = torch.Generator().manual_seed(0)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model: nn.Module = (Irasim if who == "ours" else Restated)(config).to(shape.device)
    if who == "ours":
        model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    latents = torch.randn(shape.batch, shape.frames, config.latent_channels, *shape.grid, generator=generator)
    actions = torch.randn(shape.batch, shape.frames - 1, 1, config.action_dim, generator=generator)
    valid = torch.ones(shape.batch, shape.frames, dtype=torch.bool)
    clip = Clip(latents, latents[:, :, 0, 0, :0], actions, valid).map(lambda t: t.to(shape.device))
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=1e-4, weight_decay=0.0)
    signal = (1 - torch.linspace(1e-4, 0.02, 1000)).cumprod(0)

    def loss() -> torch.Tensor:
        if isinstance(model, Irasim):
            return model.loss(clip, generator)[0]
        times = torch.randint(1000, (shape.batch,), generator=generator)
        future = clip.latents[:, 1:]
        noise = torch.randn(future.shape, generator=generator).to(shape.device)
        part = signal[times].to(shape.device)[:, None, None, None, None]
        noised = torch.cat([clip.latents[:, :1], part.sqrt() * future + (1 - part).sqrt() * noise], dim=1)
        answer = model(noised, times.to(shape.device), clip.actions.flatten(2))
        return (answer[:, 1:].float() - noise).square().mean()

    def step() -> None:
        optimizer.zero_grad()
        with torch.autocast(torch.device(shape.device).type, torch.bfloat16, enabled=shape.precision == "bfloat16"):
            value = loss()
        torch.autograd.backward(value)
        nn.utils.clip_grad_norm_(trained, 0.1)
        optimizer.step()

    return step


def seconds(shape: Shape, repeats: int) -> dict[Who, list[float]]:
    """Times of ``repeats`` steps of each, in turn, after one to warm up."""
    steps = {who: make_step(who, shape) for who in WHO}
    times: dict[Who, list[float]] = {who: [] for who in WHO}
    for turn in range(repeats + 1):
        for who, step in steps.items():
            _wait(shape.device)
            start = time.perf_counter()
            step()
            _wait(shape.device)
            if turn:
                times[who].append(time.perf_counter() - start)
    return times


def peak_bytes(who: Who, shape: Shape, threads: int = 1) -> int:
    """Most memory that two steps need, beside what a process has that only loaded the code."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe(duplex=False)
    child = context.Process(target=_measure, args=(who, shape, threads, there))
    child.start()
    there.close()
    try:
        found: int = here.recv()
    finally:
        child.join()
    return found


def _measure(who: Who, shape: Shape, threads: int, pipe: object) -> None:
    torch.set_num_threads(threads)
    before = resident()
    step = make_step(who, shape)
    step()
    step()
    _wait(shape.device)
    if torch.device(shape.device).type == "cuda":
        found = torch.cuda.max_memory_allocated(shape.device)
    else:
        found = resident() - before
    pipe.send(found)  # type: ignore[attr-defined]  # multiprocessing's Connection


def resident() -> int:
    """Most bytes that this process has held; its ``ru_maxrss`` would be that of the process it was forked from."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def _wait(device: str) -> None:
    if torch.device(device).type == "cuda":
        torch.cuda.synchronize(device)
