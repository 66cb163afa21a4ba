"""The scripted Push-T policies read the picture alone, are graded by their settings, and repeat."""

from dataclasses import replace

import numpy as np
import pytest

from simforcing_env.policies.policy import Task
from simforcing_env.policies.scripted import PushTScripted, PushTSkill
from simforcing_env.teacher_env import TeacherVectorEnv
from teachers.pusht.contract import pusht_contract
from world_model.errors import InputError

CONTRACT = pusht_contract()


def coverage_after(skill, starts, seeds, steps=60):
    """Best coverage ``(K,)`` within ``steps`` control steps, and the actions."""
    env = TeacherVectorEnv(len(starts), chunk=skill.horizon, autoreset_mode="Disabled", frames_in_info=False)
    policy = PushTScripted(CONTRACT, skill)
    observation, infos = env.reset(seed=list(seeds), options={"start": list(starts)})
    policy.reset(seeds, [Task()] * len(starts))
    best, taken = infos["coverage"], []
    for _ in range(steps // skill.horizon):
        taken.append(policy.act(observation))
        observation, _, _, _, infos = env.step(taken[-1])
        best = np.maximum(best, infos["coverage"])
    return best, np.concatenate(taken, 1)


def test_a_skilled_policy_brings_the_block_nearer_than_a_fumbling_one():
    starts = [f"near-{800_000 + n}" for n in range(6)]
    skilled, _ = coverage_after(PushTSkill(tries=8), starts, range(6))
    fumbling, _ = coverage_after(PushTSkill(tries=8, fumble=1.0), starts, range(6))
    assert skilled.mean() > fumbling.mean() + 0.05
    assert skilled.mean() > 0.85


def test_an_episode_does_not_depend_on_its_slot_or_neighbours():
    skill = PushTSkill(tries=4, blur=3.0, turn=2.0)
    starts, seeds = ["seed-800001", "near-800002", "seed-800003"], [4, 5, 6]
    best, actions = coverage_after(skill, starts, seeds, 24)
    again, others = coverage_after(skill, starts[::-1], seeds[::-1], 24)
    np.testing.assert_allclose(others[::-1], actions, atol=1e-3)
    np.testing.assert_allclose(again[::-1], best, atol=1e-5)
    _, other_seeds = coverage_after(skill, starts, [7, 8, 9], 24)
    assert np.abs(other_seeds - actions).max() > 10


def test_settings_are_part_of_the_hash_and_checked():
    assert PushTScripted(CONTRACT, PushTSkill(tries=3)).hash != PushTScripted(CONTRACT, PushTSkill(tries=4)).hash
    with pytest.raises(InputError, match=r"fumble is 2\.0 but must be a number from 0 to 1"):
        PushTSkill(fumble=2.0)
    with pytest.raises(InputError, match="pushes the block of Push-T but the world is 'other'"):
        PushTScripted(replace(CONTRACT, name="other"))
