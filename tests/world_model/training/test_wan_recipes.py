"""SimForcing's published recipes: their numbers, and a dry run of both stages on tiny data with a tiny Wan."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.world_model.codecs.test_autoencoder import WAN
from tests.world_model.data.test_pair_manifest import record_videos
from tests.world_model.models.wan.tiny import SETTINGS
from world_model.models.wan import PUBLISHED
from world_model.models.wan.student import WanForcing
from world_model.pretrained import LearnedSimulator
from world_model.rollout import Rollout
from world_model.training.recipes import RECIPES, recipe
from world_model.training.recipes_wan import WAN_RECIPES
from world_model.training.run import start_run

diffusers = pytest.importorskip("diffusers")


@pytest.mark.parametrize("name", WAN_RECIPES)
def test_published_settings(name: str) -> None:
    """Specification 3.1."""
    plan = RECIPES[name]
    optim, stage1 = plan.train.optim, name.endswith("stage1")
    assert (optim.learning_rate, optim.final_rate, optim.weight_decay, optim.clip) == (1e-4, 0.01, 0.01, 1.0)
    assert optim.betas == (0.9, 0.95)
    assert (plan.train.steps, optim.warmup) == (9375, 468)
    assert (plan.side, plan.train.model["video"]["dropout"]) == (("sim", 0.1) if stage1 else ("pairs", 0.0))  # type: ignore[index]
    assert plan.sampler == {"kind": "euler", "steps": 20, "shift": 5.0}
    assert plan.train.windows.length == (21 if name.startswith("bridge") else 33)


def test_dry_run_of_both_stages(tmp_path: Path) -> None:
    """From published weights in a folder and a manifest of videos to a student that simulates and is told of it."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        settings = {**PUBLISHED, **SETTINGS, "in_channels": 16, "out_channels": 16}
        net = diffusers.WanTransformer3DModel(**settings)
        net.save_pretrained(tmp_path / "wan/transformer")
        diffusers.AutoencoderKLWan(**WAN).save_pretrained(tmp_path / "wan/vae")
    videos = record_videos(tmp_path / "videos")
    small = {name: value for name, value in settings.items() if PUBLISHED.get(name) != value}
    video = {"settings": small, "latent_channels": 16, "action_dim": 2, "action_width": 16, "action_ffn": 20}
    video |= {"frames": 9, "told_proprio": 2, "text_tokens": 3, "checkpointing": True}
    sets = (
        *("train.batch=2", "train.precision=no", "train.windows.length=9", "train.validation_frames=8"),
        *("train.validation_clips=2", f"train.model.video={json.dumps(video)}", f"pretrained={tmp_path / 'wan'}"),
        *(f"codec.source={tmp_path / 'wan'}", "sampler.steps=2"),
    )
    places = {"dataset": videos, "held_out": videos}
    first = start_run("bridge-simforcing-stage1", sets, out=tmp_path / "one", **places)
    begun = first.plain.video.video.net.state_dict()  # type: ignore[union-attr]
    assert all(torch.equal(value, begun[name]) for name, value in net.state_dict().items())
    first.run(stop_at=1)
    first.close()
    second = start_run("bridge-simforcing", sets, out=tmp_path / "two", initial=tmp_path / "one/checkpoint", **places)
    student = second.plain
    assert isinstance(student, WanForcing)
    before = {name: value.clone() for name, value in student._teacher[0].state_dict().items()}
    second.run(stop_at=2)
    second.close()
    assert all(torch.equal(value, before[name]) for name, value in student._teacher[0].state_dict().items())
    logged = [json.loads(line) for line in (tmp_path / "two/log.jsonl").read_text().splitlines()]
    assert any(record["kind"] == "validation" and np.isfinite(record["psnr_8"]) for record in logged)

    simulator = LearnedSimulator.from_pretrained(tmp_path / "two/checkpoint")
    rollout = Rollout(simulator.model, simulator.codec, simulator.contract, simulator.sampler, simulator.history)
    frames = np.full((2, 16, 16, 3), 100, np.uint8)
    proprio, actions = np.full((2, 2), 50.0), np.full((2, 8, 1, 2), 30.0)
    begun_at = rollout.start(frames, proprio, np.arange(2))
    _, simulated = rollout.advance(begun_at, actions)
    sim = torch.cat([begun_at.history.latents, simulated.sampled], dim=1)
    after, made = rollout.advance(begun_at, actions, sim, 0.6)
    assert made.frames.shape == (2, 8, 16, 16, 3)
    assert made.sampled.shape == (2, 2, 16, 2, 2)
    assert after.history.latents.shape == (2, 1, 16, 2, 2)
    assert after.frames.tolist() == [8, 8]
    assert recipe("bridge-simforcing").train.batch * 8 == 128
