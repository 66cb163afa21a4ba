"""The policy that plans: in the true environment, in the learned one, against the clock, and what it remembers."""

from dataclasses import replace

import numpy as np
import pytest

from simforcing_env.planning.model_world import imagination
from simforcing_env.planning.planning_policy import PlanningConfig, PlanningPolicy
from simforcing_env.planning.proposals import Repeated, Shortened
from simforcing_env.planning.scoring import ScoreConfig
from simforcing_env.planning.search import SearchConfig
from simforcing_env.planning.values import make_value
from simforcing_env.planning.world import EnvWorld
from simforcing_env.policies.policy import Task
from simforcing_env.policies.registry import make_policy
from simforcing_env.registration import WEIGHTS
from simforcing_env.teacher_env import TeacherVectorEnv
from simforcing_env.vector_env import WorldModelVectorEnv
from tests.simforcing_env.planning.untrained import small_policy
from world_model.errors import InputError
from world_model.pretrained import LearnedSimulator

QUICK = PlanningConfig(execute=4, score=ScoreConfig(length=8, continuations=1), search=SearchConfig(count=6))


@pytest.fixture(scope="module")
def simulator():
    return LearnedSimulator.from_pretrained(WEIGHTS / "pusht-nano")


def planner(simulator, config=QUICK, **options):
    return PlanningPolicy(small_policy(), imagination(simulator, False), make_value("points"), config, **options)


def true_env(count=2, chunk=4):
    env = TeacherVectorEnv(count, teacher="pusht", chunk=chunk, frames_in_info=False, success_threshold=1.0)
    observation, _ = env.reset(seed=0, options={"start": [f"near-{k}" for k in range(count)]})
    return env, observation


def test_it_acts_in_both_environments(simulator):
    policy = planner(simulator)
    for env in (true_env()[0], WorldModelVectorEnv(2, checkpoint=simulator, chunk=4, success_threshold=1.0)):
        observation, _ = env.reset(seed=0, options={"start": ["near-0", "near-1"]})
        policy.reset([0, 1])
        for _ in range(2):
            actions = policy.act(observation)
            assert actions.shape == (2, 4, 2)
            observation, *_ = env.step(actions)
    assert len(policy.seconds) == 4


def test_episodes_do_not_depend_on_their_neighbours(simulator):
    env, observation = true_env(2)
    policy, taken = planner(simulator), []
    policy.reset([8, 9])
    for _ in range(2):
        taken.append(policy.act(observation))
        observation, *_ = env.step(taken[-1])
    alone, _ = true_env(2)
    observation, _ = alone.reset(seed=0, options={"start": ["near-1", "near-1"]})
    policy.reset([9, 5])
    for before in taken:
        actions = policy.act(observation)
        np.testing.assert_allclose(actions[0], before[1], atol=0.05)  # px
        observation, *_ = alone.step(np.stack([before[1], before[1]]))


def test_it_remembers_how_it_came_here(simulator):
    env, observation = true_env(1)
    policy = planner(simulator)
    policy.reset([0])
    assert policy.moment(observation).proprio.shape == (1, 1, 2)
    plan = policy.plan(observation)
    observation, *_, infos = env.step(plan.actions[:, :4])
    known = policy.moment(observation)
    np.testing.assert_allclose(known.actions[0, :, 0], plan.actions[0, :4], atol=1e-4)
    np.testing.assert_allclose(known.proprio[0, 1:], infos["proprio"][0], atol=3)  # px; foreseen, but for the last
    np.testing.assert_array_equal(known.proprio[0, -1], infos["proprio"][0, -1].astype(np.float32))


def test_it_notices_how_much_of_a_chunk_was_carried_out(simulator):
    env, _ = true_env(1, chunk=2)
    observation, _ = env.reset(seed=0, options={"start": ["seed-3"]})
    policy = planner(simulator, replace(QUICK, search=SearchConfig(count=6, stay=False)))
    policy.reset([0])
    plan = policy.plan(observation)
    assert np.abs(np.diff(plan.actions[0, :4], axis=0)).max() > 3
    observation, *_ = env.step(plan.actions[:, :2])
    known = policy.moment(observation)
    np.testing.assert_allclose(known.actions[0, -2:, 0], plan.actions[0, :2], atol=1e-4)


def test_the_oracle_sees_the_truth():
    env, observation = true_env(1, chunk=4)
    config = replace(QUICK, score=ScoreConfig(length=8, continuations=0, last=1))
    policy = PlanningPolicy(small_policy(), lambda moment: EnvWorld(env), make_value("iou"), config)
    policy.reset([0])
    plan = policy.plan(observation)
    foretold = plan.scores.imagined.labels["iou"][0, plan.chosen[0]]
    *_, infos = env.step(plan.actions[:, :4])
    np.testing.assert_allclose(infos["labels"]["iou"][0], foretold[:4], atol=1e-6)


@pytest.mark.parametrize("name", ["cem", "icem", "mppi", "gradient"])
def test_every_planner_plans(simulator, name):
    policy = planner(simulator, replace(QUICK, planner=name, search=SearchConfig(count=5, rounds=2)))
    _, observation = true_env()
    policy.reset([0, 1])
    plan = policy.plan(observation)
    assert plan.actions.shape == (2, 8, 2)
    assert plan.scores.total[np.arange(2), plan.chosen].tolist() == plan.scores.total.max(1).tolist()


def test_any_policy_can_propose(simulator):
    base = make_policy("random", simulator.contract)
    proposer = Repeated(base, simulator.contract, 5)
    score = ScoreConfig(length=base.horizon, continuations=0)
    config = PlanningConfig(execute=1, score=score, search=SearchConfig(count=5))
    policy = PlanningPolicy(proposer, imagination(simulator, False), make_value("points"), config)
    _, observation = true_env()
    policy.reset([0, 1])
    plan = policy.plan(observation)
    assert plan.candidates.shape[:2] == (2, 6)  # and holding still
    base.reset([0, 1], [])
    np.testing.assert_array_equal(plan.candidates[:, 0], base.act(observation))
    with pytest.raises(InputError, match="continuations to 0"):
        PlanningPolicy(proposer, imagination(simulator, False), make_value("points"), QUICK)
    with pytest.raises(InputError, match="raise its count"):
        proposer.sample(observation, 6)


def test_a_shortened_policy_is_asked_more_often():
    policy, (_, observation) = small_policy(), true_env()
    short = Shortened(policy, 3)
    short.reset([0, 1])
    actions = short.act(observation)
    policy.reset([0, 1])
    np.testing.assert_array_equal(actions, policy.act(observation)[:, :3])
    with pytest.raises(InputError, match="take 1 to that"):
        Shortened(policy, 9)


def test_a_planned_policy_has_a_specification(tmp_path):
    """And does what a planner over the same policy does."""
    small_policy().save(tmp_path / "it")
    _, observation = true_env(1)
    contract = small_policy().contract
    named = make_policy(f"planned:policy={tmp_path / 'it'},count=5,execute=3", contract)
    named.reset([3], [Task()])
    assert named.horizon == 3
    assert named.act(observation).shape == (1, 3, 2)
    assert named.hash != make_policy(f"planned:policy={tmp_path / 'it'},count=6,execute=3", contract).hash
    with pytest.raises(InputError, match="write planned:policy=FOLDER"):
        make_policy("planned:count=5", contract)


def test_a_budget_is_kept_to(simulator):
    policy, (_, observation) = planner(simulator), true_env(1)
    policy.reset([0])
    plan = policy.plan(observation, budget_ms=1)
    assert plan.candidates.shape == (1, 10, 8, 2)  # nothing is known of its cost
    assert plan.actions.shape == (1, 8, 2)
    plan = policy.plan(observation, budget_ms=1e-3)
    assert plan.candidates.shape == (1, 1, 8, 2)  # no time to imagine anything
    assert policy.moment(observation).proprio.shape == (1, 1, 2)
    policy.reset([0, 1])
    assert policy.budget is not None
    assert not policy.budget.paces  # two episodes take longer than one
