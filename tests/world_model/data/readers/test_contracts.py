"""Contracts fitted to what is recorded, and splits by order."""

import numpy as np

from world_model.data.readers.contracts import Measured, fitted_contract, split_by_order
from world_model.data.readers.registry import open_reader


def test_bounds_are_widened_and_said(shared_data):
    reader = open_reader(shared_data / "robosuite_teleop")
    contract = fitted_contract(reader, Measured.of(reader.numbers(i) for i in range(3)))
    assert (contract.actions[0].low, contract.actions[0].high) == (-3.75, 3.75)
    assert contract.normalizer.action_high == reader.contract.normalizer.action_high  # the controller's own scale stays
    assert any("'move_x' goes from -3.75 to 3.75" in w for w in reader.warnings)


def test_the_normaliser_is_from_the_training_part(shared_data):
    reader = open_reader(shared_data / "bridge_v2_256")
    whole = Measured.of(reader.numbers(i) for i in range(6))
    train = whole.part(range(4))
    contract = fitted_contract(reader, whole, train)
    assert contract.normalizer.kind == "quantiles"
    assert np.allclose(contract.normalizer.action_low, np.quantile(np.concatenate(train.actions), 0.01, axis=0))
    everything = np.concatenate(whole.actions)
    assert contract.check_actions(everything[:, None], 3).shape == (len(everything), 1, 7)


def test_splits_by_order():
    assert split_by_order(6) == ["train"] * 4 + ["val", "test"]
    assert split_by_order(16) == ["train"] * 12 + ["val"] * 2 + ["test"] * 2
    assert split_by_order(45).count("test") == 5
    assert split_by_order(2) == ["train", "test"]
    assert split_by_order(1) == ["train"]
