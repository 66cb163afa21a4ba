"""Recipes build, and overrides are checked."""

from __future__ import annotations

import pytest
import torch

from world_model.codecs.making import check_codec
from world_model.diffusion import SAMPLERS
from world_model.errors import InputError
from world_model.models import MODELS
from world_model.registry import build_config
from world_model.training.recipes import RECIPES, recipe
from world_model.training.recipes_wan import WAN_RECIPES

PUBLISHED = ("irasim-rt1", "irasim-bridge", "irasim-languagetable", "irasim-robonet", "irasim-droid")
STUDY = ("pusht-irasim-frame-ada", "pusht-irasim-video-ada", "pusht-lvdm", "pusht-vdm")


def size(name: str) -> int:
    """Parameters of a recipe's model."""
    plan = recipe(name)
    kind, config = build_config(MODELS, plan.train.model, name)
    build_config(SAMPLERS, plan.sampler, name)
    check_codec(plan.codec, name)
    with torch.device("meta"):
        return sum(p.numel() for p in MODELS[kind][1](config).parameters())


@pytest.mark.parametrize("name", RECIPES)
def test_recipe_builds(name: str) -> None:
    most = 6.1e9 if name in WAN_RECIPES else 700e6 if name in PUBLISHED else 10e6  # 20 MB in bf16
    assert size(name) < most


def test_the_study_compares_equal_sizes() -> None:
    sizes = [size(name) for name in STUDY]
    assert max(sizes) / min(sizes) < 1.1


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_settings(name: str) -> None:
    """Recorded facts of the released configs."""
    plan = recipe(name)
    optim = plan.train.optim
    assert (optim.learning_rate, optim.final_rate, optim.warmup, optim.clip, optim.ema) == (1e-4, 1.0, 0, 0.1, 0.9999)
    assert (optim.weight_decay, plan.train.steps, plan.train.seed) == (0.0, 300_000, 3407)
    length, history = (12, 2) if name == "irasim-robonet" else (16, 1)
    assert (plan.train.windows.length, plan.train.windows.history) == (length, history)
    model = build_config(MODELS, plan.train.model, name)[1]
    assert (model.frames, model.history, plan.history) == (length, history, history)
    assert plan.train.validation_frames == length - history
    assert plan.sampler == {"kind": "diffusers", "scheduler": "pndm", "steps": 50}


def test_overrides() -> None:
    plan = recipe(
        "pusht-nano", ["train.batch=3", "train.optim.learning_rate=1", "train.model.condition_dim=32", "history=2"]
    )
    assert (plan.train.batch, plan.train.optim.learning_rate, plan.history) == (3, 1.0, 2)
    assert plan.train.model["condition_dim"] == 32
    assert "condition_dim" not in recipe("pusht-nano").train.model


@pytest.mark.parametrize(
    ("override", "text"),
    [
        ("train.batch", "has no value"),
        ("train.bach=3", "names no field 'bach'"),
        ("train.batch=many", "gives 'many' where"),
        ("train.batch=1.5", "gives 1.5 where"),
    ],
)
def test_bad_overrides(override: str, text: str) -> None:
    with pytest.raises(InputError, match=text):
        recipe("pusht-nano", [override])
    with pytest.raises(InputError, match="there is no recipe 'nope'; the recipes are pusht-nano"):
        recipe("nope")
