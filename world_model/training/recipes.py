"""Shipped training recipes by name: codec, model, data windows and optimiser of each checkpoint and of the study."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from typing import Any

from world_model.errors import InputError
from world_model.training.recipe import Recipe
from world_model.training.recipes_irasim import IRASIM_RECIPES
from world_model.training.recipes_libero import LIBERO_RECIPES
from world_model.training.recipes_pusht import PUSHT_RECIPES
from world_model.training.recipes_simforcing import SIMFORCING_RECIPES
from world_model.training.recipes_wan import WAN_RECIPES

RECIPES: dict[str, Recipe] = {**PUSHT_RECIPES, **LIBERO_RECIPES, **IRASIM_RECIPES, **SIMFORCING_RECIPES, **WAN_RECIPES}


def recipe(name: str, overrides: Sequence[str] = ()) -> Recipe:
    """A shipped recipe with ``key=value`` overrides, e.g. ``train.batch=16`` or ``train.model.width=96``.

    Raises:
        InputError: unknown recipe, unknown key, or a value that is not JSON of the right type.
    """
    if name not in RECIPES:
        raise InputError(f"there is no recipe {name!r}; the recipes are {', '.join(RECIPES)}")
    result: Any = RECIPES[name]
    for override in overrides:
        key, equals, text = override.partition("=")
        if not equals:
            raise InputError(f"override {override!r} has no value; write key=value, e.g. train.batch=16")
        try:
            value = json.loads(text)
        except json.JSONDecodeError:
            value = text
        result = _replaced(result, key.split("."), value, override)
    return result  # type: ignore[no-any-return]


def _replaced(record: Any, keys: list[str], value: Any, override: str) -> Any:
    key = keys[0]
    if isinstance(record, dict):
        inner = record.get(key, {})
        return {**record, key: value if len(keys) == 1 else _replaced(inner, keys[1:], value, override)}
    if not dataclasses.is_dataclass(record) or isinstance(record, type):
        raise InputError(f"override {override!r} names {key!r} in {record!r}, which has no fields; shorten its name")
    names = [f.name for f in dataclasses.fields(record)]
    if key not in names:
        raise InputError(f"override {override!r} names no field {key!r}; the fields there are {', '.join(names)}")
    old = getattr(record, key)
    if len(keys) > 1:
        return dataclasses.replace(record, **{key: _replaced(old, keys[1:], value, override)})
    number = isinstance(old, float) and isinstance(value, int) and not isinstance(value, bool)
    if not number and type(value) is not type(old):
        raise InputError(f"override {override!r} gives {value!r} where {old!r} stands; give a value of that type")
    return dataclasses.replace(record, **{key: float(value) if number else value})
