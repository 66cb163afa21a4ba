"""When a learned episode leaves the true one: by pixels, by proprio and by the state of objects."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simforcing_env.evaluation.comparison.playing import Trace
from simforcing_env.evaluation.comparison.protocol import Protocol
from world_model.contract import Contract
from world_model.errors import InputError
from world_model.pretrained import LearnedSimulator

Instrument = Callable[[Trace, Trace, int], NDArray[np.float64]]
"""Distances ``(N,)`` of the objects in the first N pictures of two episodes."""
LEVER = 60.0  # px a radian of the block


@dataclass(frozen=True)
class Limits:
    """From where on episodes of a world have parted."""

    pixel: float
    """Grey levels."""
    proprio: float
    """Share of its range."""
    state: float
    """In the unit of the world's instrument."""


def pusht_instrument(simulator: LearnedSimulator) -> Instrument:
    """Distance of the blocks that the pose reader sees: px, a radian counted as a lever arm."""
    from simforcing_env.evaluation.pose_reader import load_reader
    from world_model.metrics.poses import angle_error, position_error

    reader = load_reader()

    def distance(learned: Trace, true: Trace, count: int) -> NDArray[np.float64]:
        one, two = (reader.read(np.stack(trace.images[:count])) for trace in (learned, true))
        turned = np.radians(angle_error(one.angle, two.angle))
        return position_error(one.block, two.block) + LEVER * turned

    return distance


def scene_instrument(simulator: LearnedSimulator) -> Instrument:
    """Distance in cm of the key point that is furthest off, as the checkpoint's own reader sees both sides.

    Raises:
        InputError: a model that reads no scene.
    """
    import torch

    model, contract = simulator.model, simulator.contract
    scene = getattr(model.config, "scene", None)
    if scene is None:
        raise InputError(f"checkpoint {simulator.hash} reads no scene, which episodes are compared by; give another")
    device = next(model.parameters()).device
    span = 50 * (np.array(scene.high) - np.array(scene.low))  # cm a unit

    def points(trace: Trace, count: int) -> NDArray[np.float64]:
        with torch.inference_mode():
            latents = simulator.codec.encode(torch.from_numpy(np.stack(trace.images[:count])).to(device))
            proprio = torch.from_numpy(contract.normalize_proprio(np.stack(trace.proprio[:count])))
            state = model.read_state(latents, proprio.to(latents)).double().cpu().numpy()
        return np.asarray(state[:, : 3 * scene.points].reshape(count, -1, 3) * span)

    def distance(learned: Trace, true: Trace, count: int) -> NDArray[np.float64]:
        away = np.linalg.norm(points(learned, count) - points(true, count), axis=-1)
        return np.asarray(away.max(1))

    return distance


PUSHT = Limits(12.0, 0.05, 12.0)
WAYS: Mapping[str, tuple[Limits, Callable[[LearnedSimulator], Instrument]]] = {
    "pusht": (PUSHT, pusht_instrument),
    "libero": (Limits(35.0, 0.05, 6.0), scene_instrument),
}
"""Beginning of a world's name to when its episodes have parted, and to what reads its objects from frames."""


def limits_of(world: str) -> Limits:
    """Of a world; those of Push-T where none are known."""
    return next((limits for beginning, (limits, _) in WAYS.items() if world.startswith(beginning)), PUSHT)


def instrument_for(simulator: LearnedSimulator) -> Instrument | None:
    """What reads the objects of a simulator's world; other worlds have pixels and proprio alone."""
    name = simulator.contract.name
    make = next((make for beginning, (_, make) in WAYS.items() if name.startswith(beginning)), None)
    return None if make is None else make(simulator)


def distances(learned: Trace, true: Trace, contract: Contract, instrument: Instrument | None) -> dict[str, list[float]]:
    """Distance at each frame that both have, the start first, by each measure."""
    shared = len(set(learned.frame) & set(true.frame))
    a, b = np.stack(learned.images[:shared]), np.stack(true.images[:shared])
    squares = np.square(a.astype(np.float64) - b).reshape(shared, -1)
    low, high = contract.proprio_bounds()
    apart = np.abs(np.stack(learned.proprio[:shared]) - np.stack(true.proprio[:shared])) / (high - low)
    found = {"pixel": np.sqrt(squares.mean(1)), "proprio": apart.max(1)}
    if instrument is not None:
        found["state"] = instrument(learned, true, shared)
    return {name: values.tolist() for name, values in found.items()}


def parted(
    learned: Trace, true: Trace, protocol: Protocol, contract: Contract, instrument: Instrument | None
) -> dict[str, int | None]:
    """The first frame, of those seen, at which the episodes are further apart than the protocol allows.

    Episodes are compared as long as both run.
    """
    limits = {"pixel": protocol.pixel_apart, "proprio": protocol.proprio_apart, "state": protocol.state_apart}
    found: dict[str, int | None] = {}
    for name, values in distances(learned, true, contract, instrument).items():
        over = np.flatnonzero(np.array(values) > limits[name])
        found[name] = learned.frame[int(over[0])] if len(over) else None
    return found
