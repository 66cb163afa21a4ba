"""Measure the learned environment: frames per second alone and batched, branches, start-up, memory.

``fps_single`` is `gym.make` with all of Gymnasium's wrappers, one action a step; ``fps_kN`` is the vector form with N
episodes, one action a step; ``branchKxN_s`` is `branch(K)` and one step of N frames. ``import_s`` is ``import
simforcing_env`` in a fresh process; ``make_reset_s`` is `gym.make` and the first reset in another one, after that
import, with all that they load themselves. ``teacher_fps`` is the true simulator in the same process, drawing the same
pictures at the same rate (gym-pusht itself; LIBERO in its stock look, and ``teacher_fast_fps`` in its fast one);
``ratio_kN`` is ``fps_kN`` by it. Intervals are over repeated stretches of time.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from simforcing_env.commands.checks import above, at_least, extras, results_file, some
from world_model.errors import InputError

if TYPE_CHECKING:
    import numpy as np

    from world_model.contract import Contract
    from world_model.results import Metric

_IMPORT = "import time; t = time.perf_counter(); import simforcing_env; print(time.perf_counter() - t)"
_RESET = """
import time, sys
import simforcing_env, gymnasium as gym
t = time.perf_counter()
env = gym.make(sys.argv[1], **({"checkpoint": sys.argv[2]} if len(sys.argv) > 2 else {}))
env.reset(seed=0)
print(time.perf_counter() - t)
"""
_MANY_STEPS = 10**9  # no time limit within a measurement


@dataclass(frozen=True)
class Config:
    """Options of ``simforcing bench env``."""

    env: str = "SimForcing/PushT-v0"
    """Registered id of a learned environment."""
    checkpoint: str | None = None
    """Packaged name, folder or hub id; None is the environment's own."""
    json: Path | None = None
    """Results file."""
    batches: tuple[int, ...] = (1, 8, 50, 128)
    """Numbers of episodes of the vector form."""
    branches: int = 50
    """Copies of one moment."""
    branch_frames: int = 16
    """Frames of each copy."""
    seconds: float = 1.0
    """Length of one stretch of a measurement of speed."""
    stretches: int = 5
    """Stretches of each measurement."""
    processes: int = 5
    """Fresh processes that measure import and first reset."""
    threads: int = 2
    """CPU threads of this process."""
    device: str = "auto"
    """auto, cpu, cuda or another torch device."""
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    """Of the denoiser; auto is bfloat16 where the device has it."""
    sampler_steps: int | None = None
    """Denoising steps per frame; None keeps the checkpoint's."""
    rows_per_call: int = 0
    """Most episodes in one network call, 0 for all."""
    seed: int = 0
    """Of episodes, actions and intervals."""


def run(config: Config) -> None:
    """Measure, print and write the results file.

    Raises:
        InputError: the id is not a learned environment's.
    """
    import numpy as np
    import torch
    from tqdm import tqdm

    import simforcing_env  # noqa: F401 (registers the ids)
    from simforcing_env.learned import LearnedBackend
    from world_model.results import Metric, describe_device, this_command, write_results

    at_least(1, threads=config.threads, batches=config.batches, branches=config.branches, processes=config.processes)
    at_least(1, branch_frames=config.branch_frames, stretches=config.stretches, sampler_steps=config.sampler_steps)
    at_least(0, rows_per_call=config.rows_per_call, seed=config.seed)
    above(0, seconds=config.seconds)
    some(batches=config.batches)
    results_file(config.json)
    torch.set_num_threads(config.threads)
    generator = np.random.default_rng(config.seed)
    make = _maker(config)
    probe = make(1)
    if not isinstance(probe.backend, LearnedBackend):
        raise InputError(
            f"{config.env} is not a learned environment; bench one of them, the teacher is measured beside it"
        )
    metrics: dict[str, Metric] = {}
    measures: dict[str, Callable[[], Metric]] = {
        "import_s": lambda: _processes(_IMPORT, [], config, generator),
        "make_reset_s": lambda: _processes(_RESET, [config.env, config.checkpoint], config, generator),
        "fps_single": lambda: _single(config, generator),
        **{f"fps_k{k}": partial(_batched, make, k, config, generator) for k in config.batches},
        f"branch{config.branches}x{config.branch_frames}_s": lambda: _branch(make(1), config, generator),
        "peak_mb": _peak,  # after the largest batch, before anything else is loaded
        **_true_simulators(probe.contract, config, generator),
    }
    for name in (bar := tqdm(measures)):
        bar.set_description(name)
        metrics[name] = measures[name]()
    if "teacher_fps" in metrics:
        slow = metrics["teacher_fps"].value
        metrics |= {f"ratio_k{k}": Metric(metrics[f"fps_k{k}"].value / slow, unit="times") for k in config.batches}
    for name, metric in metrics.items():
        interval = "" if metric.low is None else f"  ({metric.low:.4g} to {metric.high:.4g})"
        print(f"{name:20s} {metric.value:10.4g} {metric.unit}{interval}")
    if config.json is not None:
        runtime = probe.backend.rollout.runtime
        write_results(
            config.json,
            command=this_command(),
            checkpoint=probe.backend.checkpoint,
            contract=probe.contract.hash,
            device=describe_device(runtime.device, runtime.precision),
            sampler_steps=probe.backend.rollout.sampler.steps,
            seeds=[config.seed],
            metrics=metrics,
        )
        print(f"wrote {config.json}")


def _maker(config: Config) -> Callable[[int], Any]:
    """Function that makes a vector environment of k episodes which never end; they share one loaded simulator."""
    import gymnasium as gym

    from simforcing_env.registration import WEIGHTS
    from world_model.pretrained import LearnedSimulator, register_folder
    from world_model.runtime import resolve_device

    register_folder(WEIGHTS)
    if config.env not in gym.registry or "checkpoint" not in gym.spec(config.env).kwargs:
        raise InputError(f"{config.env!r} is not the id of a learned environment; see simforcing_env.WORLDS")
    name = config.checkpoint or gym.spec(config.env).kwargs["checkpoint"]
    simulator = LearnedSimulator.from_pretrained(name, device=resolve_device(config.device))

    def make(count: int) -> Any:
        return gym.make_vec(
            config.env,
            num_envs=count,
            checkpoint=simulator,
            device=config.device,
            precision=config.precision,
            sampler_steps=config.sampler_steps,
            rows_per_call=config.rows_per_call,
            success_threshold=1.0,  # a probability is never above 1, so no episode ends
            max_episode_steps=_MANY_STEPS,
        )

    return make


def _seed(env: Any, seed: int) -> None:
    """Episodes and sampled actions."""
    env.reset(seed=seed)
    env.action_space.seed(seed)


def _stretches(step: Callable[[], int], config: Config, generator: np.random.Generator) -> Metric:
    """Frames per second of ``step``, which returns the frames that it made."""
    from world_model.results import Metric

    step()
    rates = []
    for _ in range(config.stretches):
        began, frames = time.perf_counter(), 0
        while (spent := time.perf_counter() - began) < config.seconds or not frames:
            frames += step()
        rates.append(frames / spent)
    return Metric.mean(rates, generator, "frames/s")


def _single(config: Config, generator: np.random.Generator) -> Metric:
    import gymnasium as gym

    env = gym.make(
        config.env,
        checkpoint=config.checkpoint or gym.spec(config.env).kwargs["checkpoint"],
        device=config.device,
        precision=config.precision,
        sampler_steps=config.sampler_steps,
        success_threshold=1.0,
        max_episode_steps=-1,
    )
    _seed(env, config.seed)

    def step() -> int:
        env.step(env.action_space.sample())
        return 1

    return _stretches(step, config, generator)


def _batched(make: Callable[[int], Any], count: int, config: Config, generator: np.random.Generator) -> Metric:
    env = make(count)
    _seed(env, config.seed)

    def step() -> int:
        env.step(env.action_space.sample())
        return int(env.num_envs)

    return _stretches(step, config, generator)


def _branch(env: Any, config: Config, generator: np.random.Generator) -> Metric:
    from world_model.results import Metric

    env.reset(seed=config.seed)
    times = []
    for _ in range(config.stretches + 1):
        began = time.perf_counter()
        futures = env.branch(config.branches, chunk=config.branch_frames)
        futures.action_space.seed(config.seed)
        futures.step(futures.action_space.sample())
        times.append(time.perf_counter() - began)
    return Metric.mean(times[1:], generator, "s")


def _true_simulators(
    contract: Contract, config: Config, generator: np.random.Generator
) -> dict[str, Callable[[], Metric]]:
    """What the learned environment is held against."""
    from simforcing_env.teacher_env import LiberoTeacherVectorEnv, TeacherVectorEnv
    from teachers.registry import LIBERO

    if contract.name == "pusht":
        extras("pusht")
        own = partial(TeacherVectorEnv, teacher="pusht", success_threshold=1.0)
        return {
            "teacher_env_fps": lambda: _batched(own, 1, config, generator),
            "teacher_fps": lambda: _gym_pusht(contract.cameras[0].height, config, generator),
        }
    if contract.name not in LIBERO:
        return {}
    extras("libero")
    cameras, size = tuple(camera.name for camera in contract.cameras), contract.cameras[0].height
    seen: dict[str, Any] = {"suite": contract.name, "cameras": cameras, "size": size, "frame_hz": contract.frame_hz}
    make = partial(LiberoTeacherVectorEnv, **seen, success_threshold=1.0)
    return {
        "teacher_fps": lambda: _batched(partial(make, look="stock"), 1, config, generator),
        "teacher_fast_fps": lambda: _batched(partial(make, look="fast"), 1, config, generator),
    }


def _gym_pusht(size: int, config: Config, generator: np.random.Generator) -> Metric:
    import gymnasium as gym

    from world_model.extras import require

    require("gym_pusht", "pusht")
    shape: dict[str, Any] = {"observation_width": size, "observation_height": size}
    env = gym.make("gym_pusht/PushT-v0", obs_type="pixels_agent_pos", max_episode_steps=_MANY_STEPS, **shape)
    _seed(env, config.seed)

    def step() -> int:
        env.step(env.action_space.sample())
        return 1

    return _stretches(step, config, generator)


def _processes(code: str, arguments: list[str | None], config: Config, generator: np.random.Generator) -> Metric:
    """Seconds that fresh processes print."""
    from world_model.results import Metric

    given = [argument for argument in arguments if argument is not None]
    times = []
    for _ in range(config.processes):
        done = subprocess.run([sys.executable, "-c", code, *given], capture_output=True, text=True, check=True)
        times.append(float(done.stdout.split()[-1]))
    return Metric.mean(times, generator, "s")


def _peak() -> Metric:
    import resource

    from world_model.results import Metric

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return Metric(peak / 1024 if sys.platform != "darwin" else peak / 1024**2, unit="MB")
