"""Suites: an episode's success is that of its own task, through starts, pictures, branches and snapshots."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from simforcing_env.vector_env import WorldModelVectorEnv
from tests.world_model.untrained import untrained_pusht
from world_model.errors import InputError
from world_model.heads import OutcomeConfig, OutcomeHeads
from world_model.pretrained import Starts

OWN = "success_{task}"


@pytest.fixture(scope="module")
def suite():
    """Push-T's frames as a suite of two tasks."""
    simulator = untrained_pusht()
    config = OutcomeConfig(
        48, (16, 16), 2, (), ("success_0", "success_1"), OWN, 1.0, OWN, tasks=2, width=8, squeeze=2, hidden=8
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        heads = OutcomeHeads(config).eval().requires_grad_(False)
    names = tuple(f"suite/{task}/0" for task in (0, 1, 2))
    starts = Starts(names, simulator.starts.frames, simulator.starts.proprio)
    simulator.heads, simulator.starts = heads, starts
    return simulator


def _envs(suite, count=2):
    return WorldModelVectorEnv(count, checkpoint=suite, chunk=2, precision="float32", success_threshold=1.0)


def test_success_follows_the_task(suite):
    envs = _envs(suite)
    envs.reset(seed=0, options={"start": ["suite/1/0", "suite/0/0"]})
    actions = np.full((2, 2, 2), 256.0, np.float32)
    infos = envs.step(actions)[-1]
    labels = infos["labels"]
    np.testing.assert_array_equal(infos["success"][0], labels["success_1"][0])
    np.testing.assert_array_equal(infos["success"][1], labels["success_0"][1])
    assert (labels["success_0"] != labels["success_1"]).all()

    saved = envs.snapshot()
    branches = envs.branch(2, index=0)
    apart = branches.step(actions)[-1]
    np.testing.assert_array_equal(apart["success"], apart["labels"]["success_1"])
    first = envs.step(actions)[-1]["success"]
    envs.reset(seed=1, options={"start": "suite/0/0"})
    envs.restore(saved)
    np.testing.assert_array_equal(envs.step(actions)[-1]["success"], first)


@pytest.mark.parametrize("tasks", [1, (0, 1)])
def test_episodes_are_drawn_from_the_chosen_tasks(suite, tasks):
    envs = WorldModelVectorEnv(8, checkpoint=suite, precision="float32", task=tasks)
    _, infos = envs.reset(seed=0)
    wanted = {tasks} if isinstance(tasks, int) else set(tasks)
    assert {int(name.split("/")[1]) for name in infos["start"]} == wanted
    with pytest.raises(InputError, match="task is 7 but the starts to draw from are of tasks 0, 1, 2"):
        WorldModelVectorEnv(1, checkpoint=suite, task=7)


def test_episodes_are_drawn_from_the_named_starts(suite):
    envs = WorldModelVectorEnv(4, checkpoint=suite, precision="float32", starts=["suite/1/0"])
    assert set(envs.reset(seed=0)[1]["start"]) == {"suite/1/0"}


def test_a_picture_comes_with_its_task(suite):
    envs = _envs(suite, 1)
    picture = {"image": suite.starts.frames[0], "proprio": suite.starts.proprio[0]}
    for task in (0, 1):
        envs.reset(seed=0, options={**picture, "task": task})
        infos = envs.step(np.full((1, 2, 2), 256.0, np.float32))[-1]
        np.testing.assert_array_equal(infos["success"], infos["labels"][f"success_{task}"])


def test_unknown_tasks_are_refused_and_change_nothing(suite):
    envs = _envs(suite, 1)
    before, _ = envs.reset(seed=0, options={"start": "suite/1/0"})
    picture = {"image": suite.starts.frames[0], "proprio": suite.starts.proprio[0]}
    for options, text in (
        ({"start": "suite/2/0"}, "task 2 but know 0 to 1"),
        ({**picture, "task": -1}, "'task' is -1"),
        ({**picture, "task": 0.5}, "'task' is 0.5"),
        ({"start": "suite/1/0", "task": 1}, "goes with an 'image'"),
    ):
        with pytest.raises(InputError, match=text):
            envs.reset(options=options)
    infos = envs.step(np.full((1, 2, 2), 256.0, np.float32))[-1]
    np.testing.assert_array_equal(infos["success"], infos["labels"]["success_1"])
    assert before["image"].shape == (1, 64, 64, 3)
