"""Inverse dynamics on a world whose actions can be seen: a bright spot that jumps onto its target."""

import numpy as np
import pytest

from tests.world_model.tiny import SIZE, tiny_contract
from world_model.data.episode import Episode
from world_model.errors import InputError
from world_model.metrics.inverse import InverseConfig, fit_inverse, r_squared, recover_actions


def walk(seed, length=30):
    generator = np.random.default_rng(seed)
    places = generator.uniform(5, 95, (length, 2)).astype(np.float32)
    frames = np.zeros((length, SIZE, SIZE, 3), np.uint8)
    grid = np.arange(SIZE)
    across, down = (np.exp(-np.square((grid - p[:, None] * SIZE / 100) / 2)) for p in places.T)
    frames[...] = (255 * down[:, :, None] * across[:, None])[..., None]
    return Episode(frames, places, places[1:, None])


def test_actions_are_read_back_from_frames_and_others_are_not():
    contract = tiny_contract()
    config = InverseConfig(width=8, steps=300, batch=32)
    network = fit_inverse([walk(seed) for seed in range(20)], contract, config, 0)
    held_out = walk(100)
    read = recover_actions(network, contract, held_out.frames[None])
    assert read.shape == (1, 29, 1, 2)
    assert r_squared(read.reshape(-1, 2), held_out.actions.reshape(-1, 2)) > 0.95
    assert r_squared(read.reshape(-1, 2), held_out.actions[::-1].reshape(-1, 2)) < 0.3


def test_a_seed_gives_the_same_network():
    config = InverseConfig(width=8, steps=3)
    one, two = (fit_inverse([walk(1)], tiny_contract(), config, 5) for _ in range(2))
    for a, b in zip(one.parameters(), two.parameters(), strict=True):
        assert (a == b).all()


def test_r_squared_by_hand():
    asked = np.array([[0.0, 7.0], [2.0, 7.0], [4.0, 7.0]])
    assert r_squared(asked, asked) == 1
    assert r_squared(np.full((3, 2), [2.0, 7.0]), asked) == 0  # the mean explains nothing; the constant one is left out
    assert r_squared(asked + np.array([1.0, 5.0]), asked) == pytest.approx(1 - 3 / 8)
    assert r_squared(asked, np.ones((3, 2))) is None


def test_no_pairs_are_refused():
    with pytest.raises(InputError, match="no two frames"):
        fit_inverse([walk(0, 1)], tiny_contract(), InverseConfig(), 0)
