"""What heads make of their numbers, and what they refuse."""

import dataclasses

import pytest
import torch

from world_model import registry
from world_model.errors import InputError
from world_model.heads import HEADS, OutcomeConfig, OutcomeHeads
from world_model.initial import initialise

SMALL = OutcomeConfig(latent_channels=6, grid=(4, 4), width=8, dilations=(1,), squeeze=2, hidden=8)


def heads(config=SMALL):
    made = OutcomeHeads(config)
    initialise(made, torch.Generator().manual_seed(0))
    return made.eval().requires_grad_(False)


def inputs(count=5):
    generator = torch.Generator().manual_seed(1)
    return torch.randn(count, 6, 4, 4, generator=generator), torch.rand(count, 2, generator=generator)


def test_reward_and_success_follow_from_the_values():
    made, given = heads(), inputs(200)
    made.readout.weight *= 5  # far enough for the clips to bite
    outcome = made.outcome(*given)
    shares, logits = made(*given)
    coverage, probability = outcome.values[:, 0], outcome.values[:, 2]
    assert made.labels == ("coverage", "iou", "success_coverage", "success_pose")
    torch.testing.assert_close(coverage, shares[:, 0].clamp(0, 1))
    torch.testing.assert_close(outcome.reward, (coverage / 0.95).clamp(0, 1))
    torch.testing.assert_close(outcome.success, probability)
    torch.testing.assert_close(probability, logits[:, 0].sigmoid())
    assert shares.min() < 0 < 1 < shares.max()


def test_temperature_softens_its_own_event_only():
    made, given = heads(), inputs()
    before = made.outcome(*given)
    made.temperature[0] = 4.0
    after, logits = made.outcome(*given), made(*given)[1]
    torch.testing.assert_close(after.success, (logits[:, 0] / 4).sigmoid())
    torch.testing.assert_close(after.values[:, 3], before.values[:, 3])


def test_other_labels_than_push_t():
    config = OutcomeConfig(6, (4, 4), 2, shares=(), events=("done",), reward="done", reward_full=1.0, success="done")
    outcome = heads(config).outcome(*inputs())
    torch.testing.assert_close(outcome.reward, outcome.success)
    with pytest.raises(InputError, match="'coverage'"):
        OutcomeHeads(OutcomeConfig(shares=(), events=("done",), success="done"))


def test_a_row_does_not_depend_on_its_neighbours():
    made, (latents, proprio) = heads(), inputs()
    together = made.outcome(latents, proprio)
    for i in range(len(latents)):
        alone = made.outcome(latents[i : i + 1], proprio[i : i + 1])
        torch.testing.assert_close(alone.values[0], together.values[i])


def test_foreign_latents_are_refused():
    with pytest.raises(InputError, match=r"\(5, 7, 4, 4\)"):
        heads().outcome(torch.zeros(5, 7, 4, 4), torch.zeros(5, 2))


def test_registry_round_trip():
    values = registry.to_dict(HEADS, heads())
    assert values["kind"] == "outcome"
    assert registry.build(HEADS, values, "here").config == SMALL


def test_size_and_parameters_of_the_shipped_form():
    count = sum(p.numel() for p in OutcomeHeads(OutcomeConfig()).parameters())
    assert count < 600_000


def test_each_task_has_its_own_success():
    config = OutcomeConfig(
        6, (4, 4), 2, (), ("success_0", "success_1"), "success_{task}", 1.0, "success_{task}", tasks=2, width=8
    )
    made, given = heads(config), inputs(4)
    outcome = made.outcome(*given, torch.tensor([0, 1, 1, 0]))
    torch.testing.assert_close(outcome.success, outcome.values[[0, 1, 2, 3], [0, 1, 1, 0]])
    torch.testing.assert_close(outcome.reward, outcome.success)
    torch.testing.assert_close(made.outcome(*given).success, outcome.values[:, 0])
    with pytest.raises(InputError, match="task 2 but know 0 to 1"):
        made.outcome(*given, torch.tensor([0, 1, 2, 0]))
    with pytest.raises(InputError, match="'success_2' is missing"):
        OutcomeHeads(dataclasses.replace(config, tasks=3))
