"""Heads learn from examples, draw rare ones often, and become calibrated."""

import numpy as np
import pytest
import torch

from tests.world_model.tiny import tiny_contract
from world_model.codecs import SpaceToDepth, SpaceToDepthConfig
from world_model.contract import Contract
from world_model.data.episode import Episode
from world_model.errors import DataError, InputError
from world_model.heads import OutcomeConfig, OutcomeHeads, StateHeadConfig, StateHeads
from world_model.heads.calibrate import calibrate, fit_temperature, predict
from world_model.heads.examples import Examples, recorded_examples
from world_model.heads.training import balance, train_heads
from world_model.training.head_config import HeadTraining

CONFIG = OutcomeConfig(
    48, (4, 4), 2, shares=("filled",), events=("full",), reward="filled", success="full", width=16, hidden=32, squeeze=4
)


@pytest.fixture(scope="module")
def codec():
    return SpaceToDepth(SpaceToDepthConfig()).eval()


def bars(count, seed):
    """White 16 x 16 frames whose lower ``filled`` part is black; full from 0.7 on."""
    filled = torch.rand(count, generator=torch.Generator().manual_seed(seed))
    level = (filled[:, None] * 16 - torch.arange(16)).clamp(0, 1)
    frames = ((1 - level) * 255).round().to(torch.uint8)[:, :, None, None].expand(-1, -1, 16, 3).contiguous()
    return Examples(frames, torch.zeros(count, 2), {"filled": filled, "full": (filled > 0.7).float()})


def train(codec, seed=0, steps=150):
    training = HeadTraining(minutes=5, steps=steps, batch=32, edges=(0.5, 0.7), spoiled=0.2)
    return train_heads(bars(400, 1), codec, OutcomeHeads(CONFIG), training, torch.Generator().manual_seed(seed))


def test_heads_learn_shares_and_events(codec):
    heads, other = train(codec), bars(300, 2)
    calibrate(heads, codec, bars(300, 3))
    outcome = predict(heads, codec, other)
    assert (outcome.values[:, 0] - other.labels["filled"]).abs().mean() < 0.03
    assert ((outcome.success > 0.5) == (other.labels["full"] > 0.5)).float().mean() > 0.95


def test_the_generator_decides_the_weights_and_nothing_else_does(codec):
    torch.rand(1)  # the global generator takes no part
    first, second, third = train(codec, 0, 3), train(codec, 0, 3), train(codec, 1, 3)
    for a, b in zip(first.parameters(), second.parameters(), strict=True):
        assert torch.equal(a, b)
    assert not torch.equal(first.stem.weight, third.stem.weight)


def test_bins_get_equal_mass():
    label = np.array([0.0, 0.0, 0.0, 0.9, 0.97, 0.97], np.float32)
    weight = balance(label, (0.5, 0.95))
    np.testing.assert_allclose([weight[:3].sum(), weight[3], weight[4:].sum()], 1.0)


def test_temperature_of_overconfident_logits():
    generator = np.random.default_rng(0)
    true_logits = generator.normal(0, 2, 40_000)
    events = generator.random(40_000) < 1 / (1 + np.exp(-true_logits))
    assert fit_temperature(3 * true_logits, events) == pytest.approx(3.0, rel=0.05)
    assert fit_temperature(0.5 * true_logits, events) == pytest.approx(0.5, rel=0.05)


def test_an_event_that_never_happens_keeps_its_temperature(codec):
    heads, examples = train(codec, steps=2), bars(50, 4)
    calibrate(heads, codec, Examples(examples.frames, examples.proprio, {**examples.labels, "full": torch.zeros(50)}))
    assert heads.temperature.tolist() == [1.0]


def test_recorded_examples_and_missing_labels(codec):
    contract: Contract = tiny_contract()
    frames, proprio = np.zeros((3, 16, 16, 3), np.uint8), np.array([[0, 0], [50, 50], [100, 100]], np.float32)
    actions = np.zeros((2, 1, 2), np.float32)
    episodes = [
        Episode(frames, proprio, actions, labels={"filled": np.arange(3, dtype=np.float32), n: np.ones(3, np.float32)})
        for n in "ab"
    ]
    examples = recorded_examples(episodes, contract)
    assert len(examples) == 6
    assert set(examples.labels) == {"filled"}  # what all of them have
    torch.testing.assert_close(examples.proprio[:3, 0], torch.tensor([-1.0, 0.0, 1.0]))
    with pytest.raises(DataError, match="'full'"):
        train_heads(examples, codec, OutcomeHeads(CONFIG), HeadTraining(steps=1), torch.Generator().manual_seed(0))


def places(count, seed):
    """States of one point; the event is that it lies right of the hand."""
    generator = torch.Generator().manual_seed(seed)
    state, proprio = (torch.rand(count, n, generator=generator) * 2 - 1 for n in (1, 2))
    labels = {"right": (state[:, 0] > proprio[:, 0]).float()}
    return Examples(torch.empty(count, 0, dtype=torch.uint8), proprio, labels, state)


def test_heads_that_judge_the_state_learn_relations(codec):
    heads = StateHeads(StateHeadConfig(1, 2, ("right",), "right", "right", hidden=32))
    training = HeadTraining(minutes=5, steps=300, batch=64, edges=(0.5,))
    train_heads(places(2000, 1), codec, heads, training, torch.Generator().manual_seed(0))
    other = places(500, 2)
    calibrate(heads, codec, places(500, 3))
    found = predict(heads, codec, other).success > 0.5
    assert (found == (other.labels["right"] > 0.5)).float().mean() > 0.96
    with pytest.raises(InputError, match="state of shape None"):
        heads.outcome(torch.zeros(2, 1), torch.zeros(2, 2))
