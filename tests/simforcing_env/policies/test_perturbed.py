"""What each wrapper does to actions and observations, by hand."""

from dataclasses import replace

import numpy as np
import pytest

from simforcing_env.policies.perturbed import (
    Delay,
    Noise,
    NoiseSettings,
    Scale,
    ScaleSettings,
    Stale,
    StepSettings,
)
from simforcing_env.policies.policy import Task
from simforcing_env.policies.registry import make_policies, make_policy
from teachers.pusht.contract import pusht_contract
from world_model.errors import InputError

CONTRACT = pusht_contract()


class Count:
    """Two actions a chunk that count up, and never look."""

    name, hash, horizon = "count", "c", 2

    def reset(self, seeds, tasks):
        self.seen, self.step, self.count = [], 0, len(seeds)

    def act(self, observation):
        self.seen.append(float(observation["proprio"][0, 0]))
        steps = np.arange(self.step + 1, self.step + 3, dtype=np.float32)
        self.step += 2
        return np.broadcast_to(steps[None, :, None], (self.count, 2, 2)).copy()


def played(policy, calls=3, seeds=(5, 6)):
    """Actions ``(K, 2 * calls, 2)`` under observations that say which call it is."""
    policy.reset(seeds, [Task()] * len(seeds))
    chunks = [policy.act({"proprio": np.full((len(seeds), 2), call, np.float32)}) for call in range(calls)]
    return np.concatenate(chunks, 1)


def test_a_delay_shifts_actions_over_the_border_of_chunks():
    actions = played(Delay(Count(), CONTRACT, StepSettings(3)))
    assert actions[0, :, 0].tolist() == [1, 1, 1, 1, 2, 3]


def test_relative_actions_are_zero_until_the_first_comes():
    relative = replace(CONTRACT, actions=tuple(replace(d, low=-9.0, kind="relative") for d in CONTRACT.actions))
    assert played(Delay(Count(), relative, StepSettings(1)))[0, :, 1].tolist() == [0, 1, 2, 3, 4, 5]


def test_no_delay_changes_nothing():
    np.testing.assert_array_equal(played(Delay(Count(), CONTRACT, StepSettings(0))), played(Count()))


def test_scale_is_about_the_middle_and_stays_in_bounds():
    assert played(Scale(Count(), CONTRACT, ScaleSettings(0.5)), 1)[0, :, 0].tolist() == [128.5, 129.0]
    assert played(Scale(Count(), CONTRACT, ScaleSettings(2.0)), 1)[0, :, 0].tolist() == [0, 0]


@pytest.mark.parametrize(("steps", "seen"), [(0, [0, 0, 0, 0]), (1, [0, 1, 2, 3]), (2, [0, 0, 2, 2])])
def test_stale_observations(steps, seen):
    inner = Count()
    played(Stale(inner, CONTRACT, StepSettings(steps)), 4)
    assert inner.seen == seen


def test_noise_has_the_scale_that_is_asked_for_and_follows_from_the_seed():
    wide = replace(CONTRACT, actions=tuple(replace(d, low=-1e6, high=1e6) for d in CONTRACT.actions))
    policy = Noise(Count(), wide, NoiseSettings(scale=0.01, memory=0.5))
    seeds = tuple(range(200))
    noise = played(policy, 5, seeds) - played(Count(), 5, seeds)
    assert noise[:, -1].std() == pytest.approx(0.01 * 1e6, rel=0.15)
    assert np.corrcoef(noise[:, 8, 0], noise[:, 9, 0])[0, 1] == pytest.approx(0.5, abs=0.15)
    np.testing.assert_array_equal(played(policy, 2, (8, 3)), played(policy, 2, (3, 8))[::-1])


def test_specifications_nest_and_name_themselves():
    policy = make_policy("random:horizon=2+noise:scale=0.1+delay:steps=1", CONTRACT)
    assert policy.name == "random:horizon=2+noise:scale=0.1,memory=0+delay:steps=1"
    assert policy.horizon == 2
    assert policy.hash != make_policy("random:horizon=2+delay:steps=1+noise:scale=0.1", CONTRACT).hash


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("rando", "policy kind 'rando' is unknown; the policy kinds are .*pusht.*random"),
        ("random:speed=2", r"setting of 'random:speed=2' 'speed' is unknown"),
        ("random:hold=x", "hold of policy 'random:hold=x' is 'x' but must be a int"),
        ("random:hold=0", "hold is 0 but must be a whole number from 1"),
        ("random+shake", "wrapper 'shake' is unknown"),
        ("python:nowhere:make", "names no function"),
    ],
)
def test_mistakes_in_specifications(text, said):
    with pytest.raises(InputError, match=said):
        make_policy(text, CONTRACT)


def test_a_comparison_has_different_policies():
    with pytest.raises(InputError, match="are the same"):
        make_policies(["random", "random:hold=1"], CONTRACT)
    with pytest.raises(InputError, match="no policies"):
        make_policies([], CONTRACT)
