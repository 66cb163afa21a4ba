"""True episodes of an earlier comparison, which hold for any checkpoint of the world and are dear to run."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, replace
from pathlib import Path

from simforcing_env.evaluation.comparison.outcome import Key, Outcome, read_outcomes
from simforcing_env.evaluation.comparison.protocol import Protocol, read_protocol
from world_model.errors import ContractError, InputError
from world_model.ledger import append_records

OF_THE_MODEL = ("checkpoint", "history", "sampler_steps", "precision", "threshold")
"""Fields of a protocol that change nothing in the true simulator."""


def borrow_truth(against: Path, protocol: Protocol, ledger: Path, wanted: Collection[tuple[str, str]]) -> int:
    """Copy the true episodes behind the results file ``against`` into ``ledger``; returns how many came.

    Args:
        wanted: hashes of policies with starts.

    Raises:
        ContractError: that comparison ran its true episodes in another way.
        InputError: it lacks some of them.
    """
    theirs = read_protocol(against.with_suffix(".protocol.json"))
    ours = {name: value for name, value in asdict(protocol).items() if name not in OF_THE_MODEL}
    for name, value in ours.items():
        if asdict(theirs)[name] != value:
            raise ContractError(
                f"{against} ran with {name} {asdict(theirs)[name]!r} and this comparison has {value!r}; "
                "give the same options, or run the truth anew"
            )
    found = read_outcomes(against.with_suffix(".ledger.jsonl"), theirs.hash)
    lacking = [pair for pair in wanted if ("true", *pair) not in found]
    if lacking:
        policy, start = lacking[0]
        raise InputError(
            f"{against} has no true episode of policy {policy} from {start}, and {len(lacking) - 1} more are missing; "
            "finish that comparison first"
        )
    known = read_outcomes(ledger, protocol.hash)
    fresh = [_as_ours(found[key], protocol) for key in _true_keys(found, wanted) if key not in known]
    append_records(ledger, [outcome.line() for outcome in fresh])
    return len(fresh)


def _true_keys(found: Mapping[Key, Outcome], wanted: Collection[tuple[str, str]]) -> list[Key]:
    pairs = set(wanted)
    return [key for key in found if key[0] != "learned" and key[1:] in pairs]


def _as_ours(outcome: Outcome, protocol: Protocol) -> Outcome:
    return replace(outcome, protocol=protocol.hash, checkpoint=protocol.checkpoint)
