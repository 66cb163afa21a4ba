"""Worlds: what they imagine is what the environments do, and all of them look the same to a planner."""

import numpy as np
import pytest
import torch

from simforcing_env.planning.model_world import imagination
from simforcing_env.planning.values import GoalImageValue, LabelValue, PointValue, make_value
from simforcing_env.planning.world import EnvWorld, Imagined, Moment
from simforcing_env.registration import WEIGHTS
from simforcing_env.teacher_env import TeacherVectorEnv
from simforcing_env.vector_env import WorldModelVectorEnv
from world_model.errors import InputError
from world_model.heads import StateHeadConfig, StateHeads
from world_model.initial import initialise
from world_model.pretrained import LearnedSimulator
from world_model.training.recipes_pusht import PUSHT_STATE

STARTS = ["near-0", "seed-1"]


@pytest.fixture(scope="module")
def simulator():
    return LearnedSimulator.from_pretrained(WEIGHTS / "pusht-nano")


def true_env(chunk=8):
    env = TeacherVectorEnv(2, teacher="pusht", chunk=chunk, frames_in_info=False, success_threshold=1.0)
    observation, infos = env.reset(seed=0, options={"start": STARTS})
    return env, observation, infos


def candidates(observation, count=3, length=8):
    moves = np.random.default_rng(0).uniform(-12, 12, (2, count, length, 2)).cumsum(2)
    return np.clip(observation["proprio"][:, None, None] + moves, 0, 512).astype(np.float32)


def test_the_true_world_is_the_environment_itself():
    env, observation, _ = true_env()
    chosen = candidates(observation)
    seen = EnvWorld(env).branch(3).step(chosen)
    assert seen.labels["iou"].shape == (2, 3, 8)
    assert seen.frames is not None
    assert seen.frames.shape == (2, 3, 1, 64, 64, 3)  # the last one only
    after, *_, infos = env.step(chosen[:, 1])
    np.testing.assert_allclose(infos["labels"]["coverage"], seen.labels["coverage"][:, 1], atol=1e-6)
    np.testing.assert_allclose(infos["proprio"], seen.proprio[:, 1], atol=1e-4)
    np.testing.assert_array_equal(after["image"], seen.frames[:, 1, 0])


def test_drawn_futures_are_those_of_the_learned_environment(simulator):
    env = WorldModelVectorEnv(2, checkpoint=simulator, chunk=4, success_threshold=1.0, precision="float32")
    observation, _ = env.reset(seed=[3, 4], options={"start": ["near-0", "near-1"]})
    chosen = candidates(observation, length=4)
    by_env = EnvWorld(env).branch(3).step(chosen)
    moment = Moment.first(observation, simulator.contract, [3, 4])
    drawn = imagination(simulator, pictures=True)(moment).branch(3).step(chosen)
    np.testing.assert_allclose(by_env.proprio, drawn.proprio, atol=0.5)  # px; one of them in bfloat16
    np.testing.assert_allclose(by_env.labels["iou"], drawn.labels["iou"], atol=0.03)
    foreseen = imagination(simulator, pictures=False)(moment).branch(3).step(chosen)
    assert foreseen.frames is None
    assert drawn.state is not None
    assert foreseen.state is not None
    np.testing.assert_allclose(foreseen.state, drawn.state, atol=0.01)
    np.testing.assert_allclose(foreseen.proprio, drawn.proprio, atol=0.5)


def test_steps_add_up(simulator):
    _, observation, _ = true_env()
    chosen = candidates(observation)
    world = imagination(simulator, pictures=False)(Moment.first(observation, simulator.contract, [0, 1]))
    whole = world.branch(3).step(chosen)
    futures = world.branch(3)
    parts = [futures.step(chosen[:, :, :4]), futures.step(chosen[:, :, 4:])]
    np.testing.assert_allclose(np.concatenate([p.state for p in parts], 2), whole.state, atol=1e-5)


def test_a_world_of_frames_needs_heads(simulator):
    without = LearnedSimulator.from_pretrained(WEIGHTS / "pusht-nano")
    without.heads = None
    with pytest.raises(InputError, match="train heads"):
        imagination(without, pictures=True)


def test_heads_that_judge_the_state_need_no_pictures(simulator):
    """And each episode's success is that of its own task."""
    own = "success_{task}"
    config = StateHeadConfig(6, 2, ("success_0", "success_1"), reward=own, success=own, tasks=2)
    heads = StateHeads(config)
    initialise(heads, torch.Generator().manual_seed(0))
    with_heads = LearnedSimulator.from_pretrained(WEIGHTS / "pusht-nano")
    with_heads.heads = heads.eval().requires_grad_(False)
    _, observation, _ = true_env()
    moment = Moment.first(observation, simulator.contract, [0, 1], [1, 0])
    seen = imagination(with_heads, pictures=False)(moment).branch(3).step(candidates(observation))
    assert set(seen.labels) == {"success_0", "success_1"}
    np.testing.assert_array_equal(seen.success[0], seen.labels["success_1"][0])
    np.testing.assert_array_equal(seen.success[1], seen.labels["success_0"][1])


def shown(state=None, frames=None, **labels):
    shape = (1, 2, 3)
    made = {name: np.asarray(value, np.float32) for name, value in labels.items()}
    zeros = np.zeros(shape, np.float32)
    return Imagined(np.zeros((*shape, 2), np.float32), zeros, zeros, made, state, frames)


def test_points_are_a_distance_in_px():
    goal = PUSHT_STATE.encode(np.array([[256.0, 256.0, np.pi / 4]]))[0]
    moved = PUSHT_STATE.encode(np.array([[259.0, 260.0, np.pi / 4]]))[0]
    state = np.broadcast_to(np.stack([goal, moved])[None, :, None], (1, 2, 3, 6)).astype(np.float32)
    value = make_value("points")
    np.testing.assert_allclose(value(shown(state)), [[[0] * 3, [-5] * 3]], atol=1e-3)  # 3, 4, 5
    assert value.doubt_unit == 256
    with pytest.raises(InputError, match="key points"):
        PointValue(goal)(shown())


def test_points_are_read_from_frames_where_there_is_no_state():
    env, observation, _ = true_env()
    seen = EnvWorld(env).branch(3).step(candidates(observation))
    value = make_value("points")
    away = value(seen)
    assert away.shape == (2, 3, 1)
    assert (away < 0).all()
    assert away[0].mean() > away[1].mean()  # "near" is nearer


def test_the_goal_image_is_best_matched_by_itself():
    value = make_value("goal_image")
    assert isinstance(value, GoalImageValue)
    frames = np.stack([value.goal, np.zeros_like(value.goal)])[None, :, None].repeat(3, axis=2)
    values = value(shown(frames=frames))
    assert (values[0, 0] == 0).all()
    assert (values[0, 1] < -0.1).all()
    with pytest.raises(InputError, match="plan with pictures"):
        value(shown())


def test_labels_are_named():
    iou = np.arange(6).reshape(1, 2, 3) / 10
    np.testing.assert_allclose(LabelValue("iou")(shown(iou=iou)), iou, atol=1e-6)
    with pytest.raises(InputError, match="success, iou"):
        LabelValue("coverage")(shown(iou=iou))
    with pytest.raises(InputError, match="the values are points"):
        make_value("speed")
