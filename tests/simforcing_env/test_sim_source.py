"""Environments that are told of a simulator: its latents come from the student or live, and are part of a moment."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("mujoco")
pytest.importorskip("gym_pusht")

from simforcing_env import sim_source
from simforcing_env.commands.pack import drawn_starts
from simforcing_env.vector_env import WorldModelVectorEnv
from tests.world_model.simforcing.test_key_student import VIDEO as KEY_VIDEO
from tests.world_model.simforcing.test_key_student import key_student
from tests.world_model.simforcing.test_student import VIDEO, student
from tests.world_model.untrained import untrained_pusht
from world_model.diffusion.samplers import EulerConfig, EulerSampler
from world_model.errors import InputError
from world_model.pretrained import LearnedSimulator

SOURCES = ("student", "teacher")


SIZES: dict[str, Any] = {"latent_channels": 48, "grid": (16, 16)}


@pytest.fixture(scope="module", params=["irasim", "key points"])
def two_looks(request: pytest.FixtureRequest) -> LearnedSimulator:
    simulator = untrained_pusht()
    if request.param == "irasim":
        simulator.model = student(video=dataclasses.replace(VIDEO, **SIZES)).eval()
        simulator.sampler, simulator.history = EulerSampler(EulerConfig(2, 5.0)), 1
    else:
        simulator.model = key_student(video=dataclasses.replace(KEY_VIDEO, **SIZES)).eval()
    return simulator


def envs(simulator: LearnedSimulator, count: int, source: str = "none", **options: object) -> WorldModelVectorEnv:
    return WorldModelVectorEnv(
        count,
        checkpoint=simulator,
        chunk=3,
        precision="float32",
        success_threshold=1.0,
        sim_source=source,  # type: ignore[arg-type]
        **options,  # type: ignore[arg-type]
    )


def actions(count: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(100, 400, (count, 3, 2)).astype(np.float32)


def step(env: WorldModelVectorEnv, given: np.ndarray) -> np.ndarray:
    return np.asarray(env.step(given)[-1]["frames"], int)


@pytest.mark.parametrize("source", SOURCES)
def test_a_batch_is_its_episodes(two_looks: LearnedSimulator, source: str) -> None:
    together = envs(two_looks, 2, source)
    together.reset(seed=[3, 4], options={"start": ["seed-1", "seed-2"]})
    frames = [step(together, actions(2, k)) for k in range(2)]
    for row, (seed, start) in enumerate(((3, "seed-1"), (4, "seed-2"))):
        alone = envs(two_looks, 1, source)
        alone.reset(seed=[seed], options={"start": start})
        for k in range(2):
            assert np.abs(step(alone, actions(2, k)[row : row + 1])[0] - frames[k][row]).max() <= 1


@pytest.mark.parametrize("source", SOURCES)
def test_moments_hold_the_simulator_too(two_looks: LearnedSimulator, source: str) -> None:
    env = envs(two_looks, 1, source)
    env.reset(seed=0, options={"start": "seed-1"})
    step(env, actions(1, 0))
    saved = env.snapshot()
    branch = env.branch(2)
    first = step(env, actions(1, 1))
    both = step(branch, actions(1, 1).repeat(2, 0))
    env.reset(seed=9, options={"start": "seed-2"})
    env.restore(type(saved).from_bytes(saved.to_bytes()))
    np.testing.assert_array_equal(step(env, actions(1, 1)), first)
    assert np.abs(both - first).max() <= 1


def test_the_source_and_its_weight_matter(two_looks: LearnedSimulator) -> None:
    made = {}
    for source, guidance in (("none", 1.0), ("student", 0.0), ("student", 1.0), ("teacher", 1.0), ("teacher", 0.5)):
        env = envs(two_looks, 1, source, guidance=guidance)
        env.reset(seed=0, options={"start": "seed-1"})
        made[source, guidance] = step(env, actions(1))
    np.testing.assert_array_equal(made["none", 1.0], made["student", 0.0])
    others = [made[key] for key in made if key[1] and key[0] != "none"]
    for index, one in enumerate(others):
        assert (one != made["none", 1.0]).any()
        assert all((one != other).any() for other in others[index + 1 :])


def test_the_weight_can_change_between_steps(two_looks: LearnedSimulator) -> None:
    env, plain = envs(two_looks, 1, "teacher"), envs(two_looks, 1)
    for each in (env, plain):
        each.reset(seed=0, options={"start": "seed-1"})
    env.guidance = 0.0
    np.testing.assert_array_equal(step(env, actions(1)), step(plain, actions(1)))
    env.guidance = 1.0
    assert (step(env, actions(1, 1)) != step(plain, actions(1, 1))).any()
    with pytest.raises(InputError, match="guidance"):
        env.guidance = "much"  # type: ignore[assignment]


def test_a_model_that_knows_no_simulator_is_refused() -> None:
    with pytest.raises(InputError, match="was not trained with a simulator's frames"):
        envs(untrained_pusht(), 1, "student")


def test_shipped_first_frames_need_no_simulator(
    two_looks: LearnedSimulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = envs(two_looks, 1, "student")
    drawn.reset(seed=0, options={"start": "seed-1"})
    frames = step(drawn, actions(1))
    two_looks.sim_starts = drawn_starts(("seed-1",), two_looks.contract, sim=True)
    two_looks.save_pretrained(tmp_path / "two", dtype=None)
    two_looks.sim_starts = None
    monkeypatch.setattr(sim_source, "make_sim", lambda *a: pytest.fail("a simulator was made"))
    shipped = envs(LearnedSimulator.from_pretrained(tmp_path / "two"), 1, "student")
    shipped.reset(seed=0, options={"start": "seed-1"})
    np.testing.assert_array_equal(step(shipped, actions(1)), frames)
