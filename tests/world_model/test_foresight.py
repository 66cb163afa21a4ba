"""Foreseeing without pictures is what the rollout does, without its pictures; and gradients flow."""

import numpy as np
import pytest
import torch

from simforcing_env.registration import WEIGHTS
from world_model.errors import InputError
from world_model.foresight import Foresight
from world_model.pretrained import LearnedSimulator
from world_model.rollout import Rollout
from world_model.runtime import Runtime


@pytest.fixture(scope="module")
def simulator():
    return LearnedSimulator.from_pretrained(WEIGHTS / "pusht-nano")


def moving(simulator, count=3, frames=5):
    rng = np.random.default_rng(0)
    starts = simulator.starts
    assert starts is not None
    proprio = starts.proprio[:count, None] + rng.uniform(-30, 30, (count, 1, 1, 2)).cumsum(1)[:, :, 0]
    actions = np.clip(proprio[:, :1] + rng.uniform(-20, 20, (count, frames, 2)).cumsum(1), 0, 512)
    return starts.frames[:count], starts.proprio[:count], actions[:, :, None].astype(np.float32)


def test_it_foresees_what_the_rollout_draws(simulator):
    frames, proprio, actions = moving(simulator)
    parts = simulator.codec, simulator.contract, simulator.sampler, simulator.history
    rollout = Rollout(simulator.model, *parts)
    _, made = rollout.advance(rollout.start(frames, proprio, np.arange(3)), actions)
    foresight = Foresight(simulator.model, simulator.codec, simulator.contract)
    begun = foresight.start(frames, proprio[:, None], np.zeros((3, 0, 1, 2), np.float32))
    normal = torch.from_numpy(simulator.contract.normalize_actions(actions))
    _, seen, state, doubt = foresight.run(begun, normal)
    np.testing.assert_allclose(simulator.contract.denormalize_proprio(seen.numpy()), made.proprio, atol=0.01)
    assert made.state is not None
    torch.testing.assert_close(state, made.state, atol=1e-4, rtol=0)
    assert (doubt.diff(dim=1).mean() > 0).item()  # it knows less and less


def test_it_foresees_in_bfloat16_too(simulator):
    """Readings stay exact; the foreseer rounds by less than a px of 512, and a row does not depend on its batch."""
    frames, proprio, actions = moving(simulator)
    parts = simulator.model, simulator.codec, simulator.contract
    exact, quick = Foresight(*parts), Foresight(*parts, Runtime("cpu", "bfloat16"))
    normal = torch.from_numpy(simulator.contract.normalize_actions(actions))
    begun = [each.start(frames, proprio[:, None], np.zeros((3, 0, 1, 2), np.float32)) for each in (exact, quick)]
    torch.testing.assert_close(begun[0].state, begun[1].state, atol=1e-6, rtol=0)
    one, two = (each.run(now, normal) for each, now in zip((exact, quick), begun, strict=True))
    torch.testing.assert_close(one[2], two[2], atol=1 / 256, rtol=0)
    assert not torch.equal(one[2], two[2])
    alone = quick.start(frames[1:2], proprio[1:2, None], np.zeros((1, 0, 1, 2), np.float32))
    torch.testing.assert_close(quick.run(alone, normal[1:2])[2], two[2][1:2], atol=1e-5, rtol=0)


def test_known_frames_count(simulator):
    """Told that the hand is moving, it foresees another next place than of a hand at rest."""
    frames, proprio, actions = moving(simulator, 1)
    foresight = Foresight(simulator.model, simulator.codec, simulator.contract)
    past = np.stack([proprio - 60, proprio - 30, proprio], 1)
    told = foresight.start(frames, past, (past[:, 1:, None] + 30).astype(np.float32))
    rest = foresight.start(frames, proprio[:, None], np.zeros((1, 0, 1, 2), np.float32))
    assert told.valid.all()
    assert rest.valid.tolist() == [[False, False, True]]
    normal = torch.from_numpy(simulator.contract.normalize_actions(actions))
    places = [simulator.contract.denormalize_proprio(foresight.run(now, normal)[1].numpy()) for now in (told, rest)]
    assert np.abs(places[0][:, 0] - places[1][:, 0]).max() > 2  # px


def test_gradients_lead_back_to_the_actions(simulator):
    frames, proprio, actions = moving(simulator, 2)
    foresight = Foresight(simulator.model, simulator.codec, simulator.contract)
    begun = foresight.start(frames, proprio[:, None], np.zeros((2, 0, 1, 2), np.float32)).map(torch.clone)
    normal = torch.from_numpy(simulator.contract.normalize_actions(actions)).requires_grad_(True)
    foresight.run(begun, normal)[1][:, -1].sum().backward()
    assert normal.grad is not None
    assert (normal.grad[:, -1].abs() > 0).all()


def test_other_forms_are_refused(simulator):
    with pytest.raises(InputError, match="kind key_points"):
        Foresight(torch.nn.Linear(1, 1), simulator.codec, simulator.contract)
