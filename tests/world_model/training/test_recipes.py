"""Recipes build, and overrides are checked."""

from __future__ import annotations

import pytest

from world_model.errors import InputError
from world_model.models import MODELS
from world_model.registry import build_config
from world_model.training.recipes import RECIPES, recipe


@pytest.mark.parametrize("name", RECIPES)
def test_recipe_builds(name: str) -> None:
    plan = recipe(name)
    kind, config = build_config(MODELS, plan.train.model, name)
    model = MODELS[kind][1](config)
    assert sum(p.numel() for p in model.parameters()) < 10e6  # 20 MB in bf16


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
