"""What a model carries beyond frames: read once at the start, then kept, saved, branched and restored."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from tests.world_model.models.test_forms import clip, make
from tests.world_model.tiny import SIZE, tiny_contract
from world_model.codecs import PcaConfig, fit_pca
from world_model.diffusion import EulerConfig, EulerSampler
from world_model.rollout import Rollout
from world_model.rollout_state import RolloutState


def rollout() -> Rollout:
    frames = torch.from_numpy(np.random.default_rng(0).integers(0, 256, (8, SIZE, SIZE, 3), dtype=np.uint8))
    codec = fit_pca(frames, PcaConfig(patch=2, channels=4))
    return Rollout(make("e").eval(), codec, tiny_contract(), EulerSampler(EulerConfig(1)), 3)  # type: ignore[arg-type]


def begin(world: Rollout, count: int = 3) -> RolloutState:
    rng = np.random.default_rng(1)
    frames = rng.integers(0, 256, (count, SIZE, SIZE, 3), dtype=np.uint8)
    return world.start(frames, rng.uniform(0, 100, (count, 2)), np.arange(count))


def actions(count: int = 3, frames: int = 4) -> Any:
    return np.random.default_rng(2).uniform(0, 100, (count, frames, 1, 2))


def test_memory_replaces_looking_and_nan_asks_for_it() -> None:
    model, data = make("e").eval(), clip()
    history, action = data.history(0, 3), data.actions[:, 2:3]
    with torch.no_grad():
        context = model.condition(history, action)
        blank = torch.full((4, model.memory_dim), torch.nan)
        assert torch.equal(model.condition(replace(history, memory=blank), action).state, context.state)
        memory = model._remember(context.anchor)
        for latents in (history.latents, -history.latents):
            found = model.condition(replace(history, latents=latents, memory=memory), action).anchor
            for name in ("latents", "features", "deep", "state"):
                assert torch.equal(getattr(found, name), getattr(context.anchor, name)), name
        mixed = torch.where(torch.tensor([True, False, True, False])[:, None], torch.nan, memory)
        turned = model.condition(replace(history, latents=-history.latents, memory=mixed), action).anchor.state
        assert torch.equal(turned[1::2], context.anchor.state[1::2])
        assert not torch.equal(turned[::2], context.anchor.state[::2])


def test_rollout_begins_without_memory_and_carries_what_was_foreseen() -> None:
    world = rollout()
    state = begin(world)
    assert state.history.memory is not None
    assert state.history.memory.shape == (3, world.memory_dim)
    assert state.history.memory.isnan().all()
    after, _ = world.advance(state, actions(frames=1))
    assert after.history.memory is not None
    assert after.history.memory.isfinite().all()


@pytest.mark.parametrize("split", [1, 2, 3])
def test_saved_and_restored_midway_equals_straight_on(split: int) -> None:
    world, moves = rollout(), actions()
    _, whole = world.advance(begin(world), moves)
    part, first = world.advance(begin(world), moves[:, :split])
    copy = world.load(part.to_arrays(), 3)
    _, second = world.advance(copy, moves[:, split:])
    assert np.array_equal(np.concatenate([first.frames, second.frames], 1), whole.frames)


def test_replaced_rows_read_their_own_frames() -> None:
    """A row that is reset beside running ones begins as it would alone."""
    world, moves = rollout(), actions()
    running, _ = world.advance(begin(world), moves)
    fresh = begin(world).select([1])
    mixed = running.replace(np.array([1]), fresh)
    _, together = world.advance(mixed, moves)
    _, alone = world.advance(fresh, moves[1:2])
    assert np.abs(together.frames[1].astype(int) - alone.frames[0]).max() <= 1
