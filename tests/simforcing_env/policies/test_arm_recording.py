"""Rollouts of a policy in LIBERO's simulator as a data set."""

import dataclasses

import numpy as np
import pytest

from simforcing_env.policies.recording import PolicyJob
from simforcing_env.registration import WEIGHTS
from world_model.errors import InputError
from world_model.extras import absent

pytestmark = pytest.mark.skipif(bool(absent("libero")), reason="pip install '.[libero]'")
OPTIONS = {"policy": "random", "transitions": 16, "execute": 4, "noise": 0.1}


@pytest.fixture(scope="module")
def contract(drawing):
    return (WEIGHTS / "libero-goal-nano/contract.json").read_text(encoding="utf-8")


def job(contract, **changes):
    return PolicyJob("libero_goal", "train", 0, None, {**OPTIONS, "contract": contract, **changes}, 5, 2)


def test_an_episode_is_the_same_again_and_its_actions_lead_where_it_says(contract):
    recorder = job(contract).recorder()
    episode, again = recorder.record(7), job(contract).recorder().record(7)
    assert episode.behaviour == "policy"
    assert episode.actions.shape == (4, 4, 7)
    for name in ("frames", "proprio", "actions", "state", "simulation"):
        np.testing.assert_array_equal(getattr(episode, name), getattr(again, name), err_msg=name)
    teacher = recorder.inner.teacher
    teacher.reset(episode.start)
    for row, actions in enumerate(episode.actions, start=1):
        seen = teacher.step(actions).observation
        np.testing.assert_array_equal(seen.proprio, episode.proprio[row])


def test_the_drift_is_what_noise_asks_for(contract):
    still, moved = (job(contract, noise=noise).recorder().record(0).actions for noise in (0.0, 0.5))
    assert np.abs(still - moved).max() > 0.01
    assert np.abs(moved).max() <= 1


def test_chunks_that_do_not_fill_frames_are_refused(contract):
    with pytest.raises(InputError, match="execute is 6 but must be a multiple of the 4 actions"):
        job(contract, execute=6).recorder()


def test_other_worlds_of_arms_are_refused(contract):
    with pytest.raises(InputError, match="robosuite_lift"):
        dataclasses.replace(job(contract), teacher="robosuite_lift").recorder()
