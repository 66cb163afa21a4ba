"""Policies by specification, as commands take them.

``NAME[:ARGUMENTS][+WRAPPER[:ARGUMENTS]]...`` with arguments ``key=value`` joined by commas, such as
``pusht:tries=8,blur=10+noise:scale=0.05+delay:steps=2``. A policy of another kind takes its place as the argument:
``socket:127.0.0.1:7000``, ``python:my_module:make`` (called with the contract; gives a policy, or anything that
answers ``select_action`` or ``predict``), ``diffusion:FOLDER`` of ``simforcing policy train``. One that plans is
``planned:policy=FOLDER,count=24``, over the proposals of a diffusion policy.
"""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from simforcing_env.policies.policy import Policy
from world_model.contract import Contract
from world_model.errors import InputError
from world_model.rules import refuse_unknown

Maker = Callable[[Contract, str, str], Policy]
"""From contract, arguments and the policy's name."""


def _pusht(contract: Contract, arguments: str, name: str) -> Policy:
    from simforcing_env.policies.scripted import PushTScripted, PushTSkill

    return PushTScripted(contract, settings_of(PushTSkill, arguments, name), name)


def _random(contract: Contract, arguments: str, name: str) -> Policy:
    from simforcing_env.policies.perturbed import Random, RandomSettings

    return Random(contract, settings_of(RandomSettings, arguments, name), name)


def _socket(contract: Contract, arguments: str, name: str) -> Policy:
    from simforcing_env.policies.remote import RemotePolicy

    return RemotePolicy.connect(arguments, contract)


def _python(contract: Contract, arguments: str, name: str) -> Policy:
    from simforcing_env.policies.adapters import adapt

    module, _, function = arguments.partition(":")
    try:
        make = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError, ValueError) as error:
        raise InputError(f"policy {name!r} names no function ({error}); write python:module:function") from error
    return adapt(make(contract), contract, name, arguments)


def _diffusion(contract: Contract, arguments: str, name: str) -> Policy:
    from simforcing_env.policies.diffusion import load_diffusion

    return load_diffusion(Path(arguments), contract, name=name)


def _planned(contract: Contract, arguments: str, name: str) -> Policy:
    from simforcing_env.planning.planned import PlannedSettings, planned_policy

    return planned_policy(settings_of(PlannedSettings, arguments, name), contract, name)


POLICIES: dict[str, Maker] = {
    "diffusion": _diffusion,
    "planned": _planned,
    "pusht": _pusht,
    "random": _random,
    "socket": _socket,
    "python": _python,
}
"""First word of a specification to what makes the policy."""


def make_policy(specification: str, contract: Contract) -> Policy:
    """The policy of a specification (see the module text).

    Raises:
        InputError: an unknown name or setting, or a value that is out of its range.
    """
    from simforcing_env.policies.perturbed import WRAPPERS

    first, *wrappers = specification.split("+")
    kind, _, arguments = first.partition(":")
    refuse_unknown([kind], POLICIES, "policy kind")
    policy = POLICIES[kind](contract, arguments, first)
    for part in wrappers:
        kind, _, arguments = part.partition(":")
        refuse_unknown([kind], WRAPPERS, "wrapper")
        wrapper, settings = WRAPPERS[kind]
        policy = wrapper(policy, contract, settings_of(settings, arguments, part))
    return policy


def make_policies(specifications: Sequence[str], contract: Contract) -> list[Policy]:
    """One policy for each specification.

    Raises:
        InputError: none, as `make_policy`, or two that have the same name or do the same.
    """
    policies = [make_policy(each, contract) for each in specifications]
    seen: dict[str, str] = {}
    for policy in policies:
        for key in (policy.name, policy.hash):
            if key in seen:
                raise InputError(f"policies {seen[key]!r} and {policy.name!r} are the same; give each once")
        seen |= {policy.name: policy.name, policy.hash: policy.name}
    if not policies:
        raise InputError("no policies are given; name at least one, such as pusht:tries=8")
    return policies


def settings_of(config: type[Any], arguments: str, name: str) -> Any:
    """A settings dataclass from ``key=value,key=value``; texts become what the defaults are.

    Raises:
        InputError: an unknown key, or a value of another type or out of its range.
    """
    defaults: Mapping[str, Any] = {field.name: field.default for field in dataclasses.fields(config)}
    found: dict[str, Any] = {}
    for part in filter(None, arguments.split(",")):
        key, _, text = part.partition("=")
        refuse_unknown([key], defaults, f"setting of {name!r}")
        try:
            found[key] = type(defaults[key])(text)
        except ValueError as error:
            wanted = type(defaults[key]).__name__
            raise InputError(f"{key} of policy {name!r} is {text!r} but must be a {wanted}; correct it") from error
    return config(**found)
