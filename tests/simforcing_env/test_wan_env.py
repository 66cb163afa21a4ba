"""A tiny Wan as an environment: a chunk of frames from a codec that compresses time, told of its own simulation."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

pytest.importorskip("mujoco")
pytest.importorskip("gym_pusht")
pytest.importorskip("diffusers")

from simforcing_env.evaluation.chunk_cost import Chunk, counted_passes, measure, play
from simforcing_env.vector_env import WorldModelVectorEnv
from tests.world_model.codecs.test_autoencoder import WAN
from tests.world_model.models.wan.tiny import SETTINGS
from tests.world_model.untrained import untrained_pusht
from world_model.codecs.autoencoder import AutoencoderCodec, AutoencoderConfig
from world_model.diffusion.samplers import EulerConfig, EulerSampler
from world_model.errors import InputError
from world_model.heads import OutcomeConfig, OutcomeHeads
from world_model.models.wan import WanConfig
from world_model.models.wan.student import WanForcing, WanForcingConfig
from world_model.pretrained import LearnedSimulator
from world_model.simforcing.cost import MODES

CHUNK = 8


@pytest.fixture(scope="module")
def simulator() -> LearnedSimulator:
    made = untrained_pusht()
    settings = {**SETTINGS, "in_channels": 16, "out_channels": 16}
    video = WanConfig(
        settings=json.loads(json.dumps(settings)),
        latent_channels=16,
        action_dim=2,
        action_width=16,
        action_ffn=20,
        frames=1 + CHUNK,
        told_proprio=2,
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        made.model = WanForcing(WanForcingConfig(video=video)).eval()
        for layer in made.model.told.into.values():
            torch.nn.init.normal_(layer.weight, std=0.3)
        made.codec = AutoencoderCodec(AutoencoderConfig("AutoencoderKLWan", dict(WAN), clips=True))
        made.heads = OutcomeHeads(
            OutcomeConfig(latent_channels=16, grid=(8, 8), width=8, squeeze=2, hidden=8, dilations=(1,))
        ).eval()
    made.sampler, made.history = EulerSampler(EulerConfig(2, 5.0)), 1
    return made


def env(simulator: LearnedSimulator, count: int, source: str, **options: object) -> WorldModelVectorEnv:
    return WorldModelVectorEnv(
        count,
        checkpoint=simulator,
        chunk=CHUNK,
        precision="float32",
        success_threshold=1.0,
        sim_source=source,  # type: ignore[arg-type]
        **options,  # type: ignore[arg-type]
    )


def test_a_chunk_is_simulated_and_made_real(simulator: LearnedSimulator) -> None:
    actions = np.random.default_rng(0).uniform(100, 400, (2, CHUNK, 2)).astype(np.float32)
    made = {}
    for source, guidance in (("none", 1.0), ("student", 0.6)):
        both = env(simulator, 2, source, guidance=guidance)
        both.reset(seed=[3, 4], options={"start": ["seed-1", "near-2"]})
        saved = both.snapshot()
        with counted_passes(simulator.model) as calls:
            made[source] = np.asarray(both.step(actions)[-1]["frames"], int)
        assert len(calls) == (2 if source == "none" else 2 + 4)
        assert made[source].shape == (2, CHUNK, 64, 64, 3)
        both.restore(type(saved).from_bytes(saved.to_bytes()))
        np.testing.assert_array_equal(np.asarray(both.step(actions)[-1]["frames"], int), made[source])
    assert (made["none"] != made["student"]).any()


@pytest.mark.parametrize(("name", "passes"), [("w0", 2), ("student_w06", 6), ("student_w1", 4)])
def test_the_cost_of_a_chunk(simulator: LearnedSimulator, name: str, passes: int) -> None:
    chunk = Chunk("", "seed-1", CHUNK, steps=2, repeats=2, threads=1)
    counted, seconds = play(simulator, chunk, MODES[name])
    assert (counted, sum(MODES[name].passes(2)), len(seconds)) == (passes, passes, 2)
    assert min(seconds) > 0


def test_the_cost_in_a_process_of_its_own(simulator: LearnedSimulator, tmp_path: Path) -> None:
    simulator.save_pretrained(tmp_path / "student")
    cost = measure(Chunk(str(tmp_path / "student"), "seed-1", CHUNK, steps=2, repeats=2, threads=1), MODES["w0"])
    assert cost.passes == 2
    assert len(cost.seconds) == 2
    assert 1e8 < cost.peak < 1e10


def test_a_live_simulator_is_refused(simulator: LearnedSimulator) -> None:
    with pytest.raises(InputError, match="4 frames in a latent one"):
        env(simulator, 1, "teacher").reset(seed=0)
