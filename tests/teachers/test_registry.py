import dataclasses

import numpy as np
import pytest

from teachers.pusht.contract import pusht_contract
from teachers.registry import TEACHERS, make_teacher, teacher_module
from world_model.errors import ContractError, InputError


@pytest.mark.parametrize("name", [name for name in TEACHERS if TEACHERS[name].extra == "pusht"])
def test_every_teacher_starts_where_it_says(name):
    teacher = make_teacher(name)
    assert teacher.contract.name == name
    start = teacher_module(name).training_start(np.random.default_rng(0))
    assert set(teacher.reset(start).frames) == {camera.name for camera in teacher.contract.cameras}
    assert teacher.label_names[:2] == ("reward", "success")


def test_a_contract_sets_the_size_and_is_met():
    assert make_teacher("pusht", pusht_contract(96)).reset("seed-1").frames["top"].shape == (96, 96, 3)
    with pytest.raises(ContractError, match="control_hz"):
        make_teacher("pusht", dataclasses.replace(pusht_contract(), control_hz=5.0))


def test_unknown_teachers():
    with pytest.raises(InputError, match="no teacher 'chess'; the teachers are pusht"):
        make_teacher("chess")
