"""A small data set of made episodes."""

import numpy as np

from world_model.canvas import canvas_shape
from world_model.contract import Camera, Contract, Dimension, Normalizer
from world_model.data.episode import Episode
from world_model.data.lerobot.layout import DatasetSpec
from world_model.data.lerobot.shard import ShardWriter
from world_model.data.lerobot.writer import DatasetWriter

LENGTHS = (13, 2, 21, 7, 9, 30, 5)


def make_spec(actions_per_frame=1, size=(24, 40), hz=10.0, wrist=()):
    axes = (Dimension("x", "px", 0, 1), Dimension("y", "px", 0, 1))
    contract = Contract(
        name="toy",
        cameras=(Camera("top", *size), *(Camera("wrist", *other) for other in wrist)),
        control_hz=hz * actions_per_frame,
        actions_per_frame=actions_per_frame,
        actions=axes,
        proprio=(*axes, Dimension("z", "m", -1, 1)),
        normalizer=Normalizer("bounds", (0, 0), (1, 1), (0, 0, -1), (1, 1, 1)),
    )
    return DatasetSpec(contract, ("a", "b"), ("reward", "success", "depth"), ("Do it.",), "toy", "train", 3)


def make_episode(spec, number, length):
    generator = np.random.default_rng(number)
    contract = spec.contract
    shape = (length - 1, contract.actions_per_frame, contract.action_dim)
    return Episode(
        frames=generator.integers(0, 256, (length, *canvas_shape(contract)), np.uint8),
        proprio=generator.normal(size=(length, 3)).astype(np.float32),
        actions=generator.random(shape).astype(np.float32),
        state=generator.normal(size=(length, 2)).astype(np.float32),
        labels={
            "reward": generator.random(length).astype(np.float32),
            "success": generator.integers(0, 2, length).astype(np.float32),
            "depth": generator.random(length).astype(np.float32),
        },
        start=f"seed-{number}",
        behaviour=("push", "wander")[number % 2],
        task=number % len(spec.tasks),
        simulation=generator.normal(size=(length, spec.simulation_width)) if spec.simulation_width else None,
    )


def write(root, spec, lengths=LENGTHS, per_shard=3):
    """Write the folder and return its episodes."""
    episodes = [make_episode(spec, i, n) for i, n in enumerate(lengths)]
    writer = DatasetWriter(root, spec)
    for shard, first in enumerate(range(0, len(lengths), per_shard)):
        folder = root.parent / f"{root.name}-part-{shard}"
        folder.mkdir(parents=True)
        with ShardWriter(folder, spec, shard, first) as part:
            for episode in episodes[first : first + per_shard]:
                part.add(episode)
        writer.commit(folder)
    writer.write_stats()
    return episodes


def assert_same(a, b):
    for name in ("frames", "proprio", "actions", "state", "simulation", "task"):
        assert np.array_equal(getattr(a, name), getattr(b, name)), name
    assert a.labels.keys() == b.labels.keys()
    assert all(np.array_equal(a.labels[k], b.labels[k]) for k in a.labels)
    assert (a.start, a.behaviour) == (b.start, b.behaviour)
