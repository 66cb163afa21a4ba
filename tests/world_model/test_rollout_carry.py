"""What becomes history: the 8-bit frames, or the latents as they were sampled."""

import numpy as np
import pytest
import torch

from tests.world_model.test_rollout import inputs, make
from tests.world_model.tiny import TinyChunkModel
from world_model.errors import InputError


def test_latents_are_carried_as_they_were_sampled():
    rollout = make(carry="latents")
    frames, proprio, actions = inputs(2, 5)
    state, generated = rollout.advance(rollout.start(frames, proprio, np.arange(2)), actions)
    assert torch.equal(state.history.latents, generated.sampled[:, -3:])
    assert not torch.equal(generated.sampled, generated.latents)
    assert torch.equal(generated.latents, rollout.codec.encode(torch.from_numpy(generated.frames)))


def test_both_rules_agree_until_something_is_carried():
    frames, proprio, actions = inputs(1, 6)
    made = []
    for carry in ("frames", "latents"):
        rollout = make(TinyChunkModel(), max_frames=3, carry=carry)
        made.append(rollout.advance(rollout.start(frames, proprio, np.array([0])), actions)[1])
    assert torch.equal(made[0].sampled[:, :3], made[1].sampled[:, :3])
    assert not torch.equal(made[0].sampled[:, 3:], made[1].sampled[:, 3:])


def test_nothing_else_can_be_carried():
    with pytest.raises(InputError, match="carry is 'noise' but must be one of frames, latents"):
        make(carry="noise")
