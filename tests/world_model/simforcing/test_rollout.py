"""Rollouts that are told of the simulator: in one piece or several, in a batch or alone."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.world_model.simforcing.test_student import VIDEO, student
from tests.world_model.tiny import SIZE, tiny_contract
from world_model.codecs import PcaConfig, fit_pca
from world_model.diffusion.samplers import EulerConfig, EulerSampler
from world_model.errors import InputError
from world_model.rollout import Rollout

LENGTH = 8  # two pieces of the four frames that the model generates at once


@pytest.fixture(scope="module")
def rollout() -> Rollout:
    frames = torch.randint(0, 256, (50, SIZE, SIZE, 3), generator=torch.Generator().manual_seed(0), dtype=torch.uint8)
    codec = fit_pca(frames, PcaConfig(patch=4, channels=VIDEO.latent_channels))
    return Rollout(student(), codec, tiny_contract(), EulerSampler(EulerConfig(2, 5.0)), 1)


def _given(batch: int = 3) -> tuple[np.ndarray, np.ndarray, np.ndarray, torch.Tensor]:
    rng = np.random.default_rng(0)
    frames = rng.integers(0, 256, (batch, SIZE, SIZE, 3), dtype=np.uint8)
    proprio, actions = rng.uniform(0, 100, (batch, 2)), rng.uniform(0, 100, (batch, LENGTH, 1, 2))
    sim = torch.randn(batch, 1 + LENGTH, VIDEO.latent_channels, *VIDEO.grid, generator=torch.Generator().manual_seed(3))
    return frames, proprio, actions, sim


@pytest.mark.parametrize("guidance", [0.0, 0.6, 1.0])
def test_a_batch_is_its_rows(rollout: Rollout, guidance: float) -> None:
    frames, proprio, actions, sim = _given()
    seeds = np.arange(3)
    _, together = rollout.advance(rollout.start(frames, proprio, seeds), actions, sim, guidance)
    for i in range(3):
        row = slice(i, i + 1)
        _, alone = rollout.advance(
            rollout.start(frames[row], proprio[row], seeds[row]), actions[row], sim[row], guidance
        )
        assert np.abs(alone.frames[0].astype(int) - together.frames[i].astype(int)).max() <= 1


def test_a_chunk_is_its_pieces(rollout: Rollout) -> None:
    frames, proprio, actions, sim = _given()
    begun = rollout.start(frames, proprio, np.arange(3))
    _, at_once = rollout.advance(begun, actions, sim, 0.6)
    state, first = rollout.advance(begun, actions[:, :4], sim[:, :5], 0.6)
    _, second = rollout.advance(state, actions[:, 4:], sim[:, 4:], 0.6)
    np.testing.assert_array_equal(at_once.frames, np.concatenate([first.frames, second.frames], axis=1))


def test_the_simulator_matters_unless_its_weight_is_nothing(rollout: Rollout) -> None:
    frames, proprio, actions, sim = _given()
    begun = rollout.start(frames, proprio, np.arange(3))
    plain, told, silent = (rollout.advance(begun, actions, *more)[1].frames for more in ((), (sim,), (sim, 0.0)))
    np.testing.assert_array_equal(plain, silent)
    assert (plain != told).any()


def test_latents_of_another_number_of_frames_are_refused(rollout: Rollout) -> None:
    frames, proprio, actions, sim = _given()
    with pytest.raises(InputError, match=r"\(3, 8\) episodes and frames but must be of \(3, 9\)"):
        rollout.advance(rollout.start(frames, proprio, np.arange(3)), actions, sim[:, 1:])
