"""Registries: configs of nested plain values come back equal; mistakes name the file, the field and the choice."""

import json
import math
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest

from world_model.errors import DataError
from world_model.registry import build, build_config, to_dict


@dataclass(frozen=True)
class Inner:
    rate: float = 0.5
    betas: tuple[float, float] = (0.9, 0.95)


@dataclass(frozen=True)
class Config:
    width: int
    inner: Inner = field(default_factory=Inner)
    layers: tuple[str, ...] = ()
    parts: tuple[Inner, ...] = ()
    mode: Literal["x0", "v"] = "x0"
    limit: int | None = None
    causal: bool = True
    extra: dict[str, object] = field(default_factory=dict)


class Thing:
    def __init__(self, config: Config) -> None:
        self.config = config


class Twin(Thing):
    pass


REGISTRY = {"thing": (Config, Thing), "twin": (Config, Twin), "inner": (Inner, Thing)}
FULL = Config(3, Inner(1.0, (0.1, 0.2)), ("a", "b"), (Inner(), Inner(2.0)), "v", 4, False, {"k": [1]})


@pytest.mark.parametrize("cls", [Thing, Twin])
@pytest.mark.parametrize("config", [FULL, Config(1)])
def test_round_trip_through_json(cls: type[Thing], config: Config) -> None:
    values = json.loads(json.dumps(to_dict(REGISTRY, cls(config))))
    assert values["kind"] == cls.__name__.lower()
    again = build(REGISTRY, values, "config.json")
    assert type(again) is cls
    assert again.config == config


def test_integers_become_the_declared_floats() -> None:
    kind, config = build_config(REGISTRY, {"kind": "inner", "rate": 2}, "config.json")
    assert (kind, config) == ("inner", Inner(2.0))
    assert isinstance(config.rate, float)


def test_bare_configs_need_to_be_of_one_kind() -> None:
    assert to_dict(REGISTRY, Inner())["kind"] == "inner"
    with pytest.raises(DataError, match=r"Config belongs to 2 kinds .*inner, thing, twin"):
        to_dict(REGISTRY, Config(1))


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"kind": "robot"}, "c.json has kind 'robot', which is none of the known ones: inner, thing, twin"),
        ({"width": 1}, "kind None"),
        ({"kind": "thing"}, "no field 'width'; its fields are width, inner"),
        ({"kind": "thing", "width": 1, "depth": 2}, "an unknown field 'depth'"),
        ({"kind": "thing", "width": "1"}, "field 'width' is '1' but must be int"),
        ({"kind": "thing", "width": True}, "field 'width' is True but must be int"),
        ({"kind": "thing", "width": 1, "inner": {"rate": math.nan}}, "field 'rate' is nan but must be float"),
        ({"kind": "thing", "width": 1, "inner": {"rate": math.inf}}, "field 'rate' is inf but must be float"),
        ({"kind": "thing", "width": 1.5}, "field 'width' is 1.5 but must be int"),
        ({"kind": "thing", "width": 1, "mode": "eps"}, "field 'mode' is 'eps' but must be Literal.*x0"),
        ({"kind": "thing", "width": 1, "inner": 3}, "field 'inner' is 3 but must be Inner"),
        ({"kind": "thing", "width": 1, "inner": {"betas": [1]}}, r"field 'betas' is \[1\]"),
        ({"kind": "thing", "width": 1, "inner": {"betax": 1}}, "field 'inner' has an unknown field 'betax'"),
        ({"kind": "thing", "width": 1, "causal": 1}, "field 'causal' is 1 but must be bool"),
    ],
)
def test_mistakes_are_named(values: dict[str, Any], words: str) -> None:
    with pytest.raises(DataError, match=words) as error:
        build(REGISTRY, values, "c.json")
    assert "\n" not in str(error.value)


def test_a_thing_that_cannot_be_built_names_the_file() -> None:
    class Divider(Thing):
        def __init__(self, config: Config) -> None:
            super().__init__(config)
            self.share = 1 / config.width

    with pytest.raises(DataError, match=r"c\.json describes a 'divider' that cannot be built \(division by zero\)"):
        build({"divider": (Config, Divider)}, {"kind": "divider", "width": 0}, "c.json")
