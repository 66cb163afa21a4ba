"""Running one policy's episodes side by side in one environment, learned or true."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simforcing_env.chunk_env import ChunkVectorEnv
from simforcing_env.evaluation.comparison.protocol import Planned
from simforcing_env.policies.policy import Policy, Task, check_chunk
from simforcing_env.spaces import PROPRIO_KEYS, image_keys
from world_model.canvas import join


@dataclass
class Trace:
    """One episode as it was seen at the ends of chunks, the start first."""

    frame: list[int] = field(default_factory=list)  # numbers of the frames, 0 is the start
    images: list[NDArray[np.uint8]] = field(default_factory=list)  # (H, W, 3) each, several cameras in one
    proprio: list[NDArray[np.float32]] = field(default_factory=list)  # (P,) each, in units
    labels: dict[str, list[float]] = field(default_factory=dict)
    uncertainty: list[float] = field(default_factory=list)  # of each frame that counts
    actions: list[NDArray[np.float32]] = field(default_factory=list)  # (a, A) of each frame that counts, in units
    success_frame: int | None = None
    seconds: tuple[float, float] = (0.0, 0.0)  # of policy and environment: the batch's, divided


Clock = Callable[[], float]


def play(
    env: ChunkVectorEnv,
    policy: Policy,
    episodes: Sequence[Planned],
    frames: int,
    words: Sequence[str] = (),
    clock: Clock = time.perf_counter,
) -> list[Trace]:
    """Run episodes until each has succeeded or ``frames`` are over.

    Args:
        env: with as many slots, in DISABLED mode, with a chunk of no more than the policy's horizon.
        words: what each task, by its number, asks for.
        clock: seconds, of which policy and environment are charged their part.

    Raises:
        InputError: the policy answers with something else than its chunk, or leaves the bounds.
    """
    contract, count = env.contract, len(episodes)
    traces = [Trace() for _ in episodes]
    tasks = [Task(e.task, words[e.task] if e.task < len(words) else "") for e in episodes]
    spent = np.zeros(2)
    began = clock()
    observation, infos = env.reset(seed=[e.seed for e in episodes], options={"start": [e.start for e in episodes]})
    policy.reset([e.seed for e in episodes], tasks)
    spent[1] += clock() - began
    labels = env.backend.label_names
    _see(traces, range(count), observation, infos, 0, labels, contract)
    live, done = np.ones(count, np.bool_), 0
    steps = env.frames_per_step * contract.actions_per_frame
    while live.any() and done < frames:
        began = clock()
        chunk = check_chunk(policy, policy.act(observation), count, contract.action_dim)[:, :steps]
        chose = clock()
        shaped = chunk.reshape(env.action_space.shape or chunk.shape)
        observation, _, terminated, _, infos = env.step(shaped)
        spent += (chose - began, clock() - chose)
        valid = infos["frames_valid"]
        for row in np.flatnonzero(live):
            counted = min(int(valid[row]), frames - done)
            traces[row].uncertainty += infos["uncertainty"][row, :counted].tolist()
            groups = chunk[row].reshape(-1, contract.actions_per_frame, contract.action_dim)
            traces[row].actions += list(groups[:counted])
            if terminated[row] and valid[row] <= frames - done:
                traces[row].success_frame = done + int(valid[row])
        numbers = [done + int(valid[row]) for row in range(count)]
        for row in np.flatnonzero(live):
            _see(traces, [int(row)], observation, infos, numbers[row], labels, contract)
        live &= ~terminated
        done += env.frames_per_step
    for trace in traces:
        trace.seconds = (float(spent[0] / count), float(spent[1] / count))
    return traces


def _see(
    traces: list[Trace],
    rows: Sequence[int] | range,
    observation: dict[str, NDArray[Any]],
    infos: dict[str, Any],
    number: int,
    labels: Sequence[str],
    contract: Any,
) -> None:
    for row in rows:
        trace = traces[row]
        trace.frame.append(number)
        pictures = {key: observation[key][row] for key in image_keys(contract)}
        named = {camera.name: picture for camera, picture in zip(contract.cameras, pictures.values(), strict=True)}
        trace.images.append(join(contract, named))
        trace.proprio.append(observation[PROPRIO_KEYS["plain"]][row].copy())
        for name in labels:
            trace.labels.setdefault(name, []).append(float(infos[name][row]))
