"""When a learned episode leaves the true one: by pixels, by proprio and by the state of objects."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from simforcing_env.evaluation.comparison.playing import Trace
from simforcing_env.evaluation.comparison.protocol import Protocol
from world_model.contract import Contract

Instrument = Callable[[NDArray[np.uint8], NDArray[np.uint8]], NDArray[np.float64]]
"""Distances ``(N,)`` of the objects in two rows of frames ``(N, H, W, 3)``."""
LEVER = 60.0  # px a radian of the block


def pusht_instrument() -> Instrument:
    """Distance of the blocks that the pose reader sees: px, a radian counted as a lever arm."""
    from simforcing_env.evaluation.pose_reader import load_reader
    from world_model.metrics.poses import angle_error, position_error

    reader = load_reader()

    def distance(a: NDArray[np.uint8], b: NDArray[np.uint8]) -> NDArray[np.float64]:
        one, two = reader.read(a), reader.read(b)
        turned = np.radians(angle_error(one.angle, two.angle))
        return position_error(one.block, two.block) + LEVER * turned

    return distance


INSTRUMENTS: Mapping[str, Callable[[], Instrument]] = {"pusht": pusht_instrument}
"""World to what reads its objects from frames; other worlds have pixels and proprio alone."""


def distances(learned: Trace, true: Trace, contract: Contract, instrument: Instrument | None) -> dict[str, list[float]]:
    """Distance at each frame that both have, the start first, by each measure."""
    shared = len(set(learned.frame) & set(true.frame))
    a, b = np.stack(learned.images[:shared]), np.stack(true.images[:shared])
    squares = np.square(a.astype(np.float64) - b).reshape(shared, -1)
    low, high = contract.proprio_bounds()
    apart = np.abs(np.stack(learned.proprio[:shared]) - np.stack(true.proprio[:shared])) / (high - low)
    found = {"pixel": np.sqrt(squares.mean(1)), "proprio": apart.max(1)}
    if instrument is not None:
        found["state"] = instrument(a, b)
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
