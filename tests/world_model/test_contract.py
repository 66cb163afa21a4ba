"""The contract: its JSON form, its hash, and the sentence for two that differ or one that says nothing sensible."""

import dataclasses
import json

import numpy as np
import pytest

from tests.world_model.tiny import tiny_contract
from world_model.contract import Contract, first_difference
from world_model.errors import ContractError, InputError


def leaves(values, path=()):
    """Paths of all plain values in a nested JSON object."""
    items = values.items() if isinstance(values, dict) else enumerate(values)
    for key, value in items:
        if isinstance(value, (dict, list)):
            yield from leaves(value, (*path, key))
        else:
            yield (*path, key)


def changed(path, value):
    """The JSON text of a contract with one value changed."""
    raw = json.loads(tiny_contract().to_json())
    place = raw
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return json.dumps(raw)


def test_json_gives_the_contract_back_and_the_hash_is_of_every_field():
    contract = tiny_contract()
    again = Contract.from_json(contract.to_json())
    assert again == contract
    assert again.hash == contract.hash
    others = [
        dataclasses.replace(contract, name="other"),
        dataclasses.replace(contract, control_hz=20.0),
        dataclasses.replace(contract, actions_per_frame=2),
        dataclasses.replace(contract, gripper="plus_opens"),
        dataclasses.replace(contract, cameras=(dataclasses.replace(contract.cameras[0], orientation="flipped"),)),
        dataclasses.replace(contract, normalizer=dataclasses.replace(contract.normalizer, kind="quantiles")),
    ]
    assert len({contract.hash, *(other.hash for other in others)}) == 1 + len(others)
    for other in others:
        with pytest.raises(ContractError, match="field"):
            contract.require_same(other, "one", "another")


def test_the_differing_field_is_named_by_its_path():
    contract = tiny_contract()
    other = Contract.from_json(changed(("actions", 1, "unit"), "m"))
    with pytest.raises(ContractError, match=r"the data and the model .*actions\[1\]\.unit' is 'mm' here"):
        contract.require_same(other, "the data", "the model")
    assert first_difference({"a": [1, 2]}, {"a": [1, 3]}) == ("a[1]", 2, 3)
    assert first_difference({"a": 1}, {"a": 1, "b": 2}) == ("b", None, 2)


CHECKED = [path for path in leaves(json.loads(tiny_contract().to_json())) if path[-1] != "unit"]  # a unit is any text


@pytest.mark.parametrize("path", CHECKED, ids=str)
def test_no_field_takes_nonsense(path):
    for value in (None, [], "sideways")[: 2 if path[-1] == "name" else 3]:
        with pytest.raises(ContractError):
            Contract.from_json(changed(path, value))


@pytest.mark.parametrize("name", ["cameras", "actions"])
def test_there_is_something_to_see_and_to_do(name):
    raw = json.loads(tiny_contract().to_json())
    empty = raw | {name: []}
    if name == "actions":
        empty["normalizer"] = raw["normalizer"] | {"action_low": [], "action_high": []}
    for bad in (empty, raw | {"cameras": raw["cameras"] * 2}):
        with pytest.raises(ContractError, match="at least one of both"):
            Contract.from_json(json.dumps(bad))


def test_normalising_and_bounds_by_hand():
    contract = tiny_contract()
    np.testing.assert_allclose(contract.normalize_actions(np.array([[0.0, 25.0], [50.0, 100.0]])), [[-1, -0.5], [0, 1]])
    np.testing.assert_allclose(contract.denormalize_proprio(np.array([-1.0, 0.5])), [0, 75])
    assert contract.check_actions(np.array([[0.0, 100.005]]), 2).max() == 100  # rounding is let through, and clipped
    with pytest.raises(InputError, match=r"action 'y' is 101 mm at index \(0, 1\), outside \[0, 100\]"):
        contract.check_actions(np.array([[0.0, 101.0]]), 2)


def test_a_look_is_part_of_the_contract_and_its_absence_leaves_old_hashes() -> None:
    plain = tiny_contract()
    fast = dataclasses.replace(plain, look="fast")
    assert "look" not in json.loads(plain.to_json())
    assert Contract.from_json(fast.to_json()) == fast
    assert fast.hash != plain.hash
    with pytest.raises(ContractError, match="field 'look' is None here and 'fast' there"):
        plain.require_same(fast, "a", "b")
