"""Ledgers survive kills: half a line is passed over and replaced, damage elsewhere is told."""

import pytest

from world_model.errors import DataError
from world_model.ledger import append_records, pack_ledger, packed, read_ledger


def test_records_come_back_in_order(tmp_path):
    path = tmp_path / "deep" / "a.jsonl"
    assert read_ledger(path) == []
    append_records(path, [{"a": 1}, {"a": 2}])
    append_records(path, [])
    append_records(path, [{"a": [3, None]}])
    assert read_ledger(path) == [{"a": 1}, {"a": 2}, {"a": [3, None]}]


@pytest.mark.parametrize("half", ['{"a": ', '{"a": 2}', "{"])
def test_half_a_line_is_replaced(tmp_path, half):
    path = tmp_path / "a.jsonl"
    append_records(path, [{"a": 1}])
    path.write_text(path.read_text() + half)
    append_records(path, [{"a": 3}])
    assert read_ledger(path) == [{"a": 1}, {"a": 3}]


def test_only_half_a_line(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"a"')
    assert read_ledger(path) == []
    append_records(path, [{"a": 3}])
    assert read_ledger(path) == [{"a": 3}]


@pytest.mark.parametrize("line", ["{]", "3", '"text"'])
def test_damage_is_told_with_its_line(tmp_path, line):
    path = tmp_path / "a.jsonl"
    path.write_text(f'{{"a": 1}}\n{line}\n{{"a": 2}}\n')
    with pytest.raises(DataError, match=r"line 2 of .*a\.jsonl is no record"):
        read_ledger(path)


def test_a_packed_ledger_is_read_and_goes_on(tmp_path):
    path = tmp_path / "a.jsonl"
    append_records(path, [{"a": 1}, {"a": 2}])
    pack_ledger(path)
    first = packed(path).read_bytes()
    pack_ledger(path)
    assert packed(path).read_bytes() == first
    path.unlink()
    assert read_ledger(path) == [{"a": 1}, {"a": 2}]
    append_records(path, [{"a": 3}])
    assert read_ledger(path) == [{"a": 1}, {"a": 2}, {"a": 3}]


def test_a_damaged_packed_ledger_is_told(tmp_path):
    path = tmp_path / "a.jsonl"
    append_records(path, [{"a": 1}])
    pack_ledger(path)
    path.unlink()
    packed(path).write_bytes(packed(path).read_bytes()[:-6])
    with pytest.raises(DataError, match=r"a\.jsonl\.gz is damaged"):
        read_ledger(path)
