"""Registries: a kind's name leads to its config dataclass and its class, both ways through plain JSON values.

A registry is ``dict[str, tuple[type[Config], type[Thing]]]`` where ``Thing(config)`` builds the thing and
``thing.config`` gives the config back. The JSON form is ``{"kind": name, **fields of the config}``.
"""

from __future__ import annotations

import dataclasses
import sys
import textwrap
import types
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from world_model.errors import DataError, InputError, SimforcingError
from world_model.rules import FLAG, TEXT, Number, Rule, Whole

Registry = Mapping[str, tuple[type[Any], type[Any]]]

_FINITE = sys.float_info.max
_SCALARS: Mapping[Any, Rule] = {
    bool: FLAG,
    int: Whole(-(2**63), 2**63),
    float: Number(-_FINITE, _FINITE),
    str: TEXT,
}


def to_dict(registry: Registry, thing: Any) -> dict[str, Any]:
    """The JSON form of a built thing, or of a config that belongs to one kind only.

    Raises:
        DataError: the registry does not hold its type, or a bare config fits several kinds.
    """
    config: Any = thing if dataclasses.is_dataclass(thing) and not hasattr(thing, "config") else thing.config
    kinds = [k for k, (c, t) in registry.items() if type(config) is c and (thing is config or type(thing) is t)]
    if len(kinds) != 1:
        raise DataError(
            f"{type(thing).__name__} belongs to {len(kinds)} kinds of the registry ({_names(registry)}); "
            "register its config and class together, or pass the built object"
        )
    return {"kind": kinds[0], **dataclasses.asdict(config)}


def build_config(registry: Registry, values: Mapping[str, Any], where: str) -> tuple[str, Any]:
    """``(kind, config)`` of a JSON form; ``where`` names the file in errors.

    Raises:
        DataError: unknown kind, unknown or missing field, or a value of the wrong type.
    """
    kind = values.get("kind")
    if not isinstance(kind, str) or kind not in registry:
        raise DataError(f"{where} has kind {kind!r}, which is none of the known ones: {_names(registry)}")
    fields = {k: v for k, v in values.items() if k != "kind"}
    return kind, _dataclass(registry[kind][0], fields, f"{where}, kind {kind!r}")


def build(registry: Registry, values: Mapping[str, Any], where: str) -> Any:
    """The thing of a JSON form, built from its config (errors as `build_config`)."""
    kind, config = build_config(registry, values, where)
    try:
        return registry[kind][1](config)
    except SimforcingError:
        raise
    except (ArithmeticError, AssertionError, LookupError, RuntimeError, TypeError, ValueError) as error:
        reason = textwrap.shorten(str(error), 120, placeholder=" ...")
        raise DataError(f"{where} describes a {kind!r} that cannot be built ({reason}); correct the file") from error


def _names(registry: Registry) -> str:
    return ", ".join(sorted(registry)) or "none"


def _dataclass(cls: type[Any], values: Mapping[str, Any], where: str) -> Any:
    known = {f.name: f for f in dataclasses.fields(cls) if f.init}
    required = dataclasses.MISSING
    unknown = [k for k in values if k not in known]
    missing = [
        n for n, f in known.items() if n not in values and f.default is required and f.default_factory is required
    ]
    if unknown or missing:
        problem = f"an unknown field {unknown[0]!r}" if unknown else f"no field {missing[0]!r}"
        raise DataError(f"{where} has {problem}; its fields are {', '.join(known)}")
    hints = get_type_hints(cls)
    typed = {k: _value(hints[k], v, f"{where}, field {k!r}") for k, v in values.items()}
    try:
        return cls(**typed)
    except InputError as error:
        raise DataError(f"{where}: {error}") from error


def _value(hint: Any, value: Any, where: str) -> Any:
    """``value`` from JSON as the annotated type ``hint`` (lists become tuples, dicts nested dataclasses)."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        if value is None and type(None) in arguments:
            return None
        return _value(next(a for a in arguments if a is not type(None)), value, where)
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        if dataclasses.is_dataclass(value):
            return value
        if isinstance(value, Mapping):
            return _dataclass(hint, value, where)
    elif origin is tuple and isinstance(value, (list, tuple)):
        items = [arguments[0]] * len(value) if arguments[-1] is Ellipsis else list(arguments)
        if len(items) == len(value):
            return tuple(_value(a, v, where) for a, v in zip(items, value, strict=True))
    elif hint in _SCALARS:
        with suppress(ValueError):
            return _SCALARS[hint](value)
    elif (origin is Literal and value in arguments) or origin in (None, dict, list):
        return value
    name = hint.__name__ if isinstance(hint, type) and origin is None else str(hint).replace("typing.", "")
    mend = "write a list such as [16, 16]" if origin is tuple else "correct it"
    raise DataError(f"{where} is {value!r} but must be {name}; {mend}")
