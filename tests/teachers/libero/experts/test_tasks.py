"""Goals of LIBERO's own tasks become steps in an order that works."""

import pytest

from teachers.libero.experts.tasks import plan
from world_model.errors import InputError


def order(*goal: tuple[str, ...]) -> list[tuple[str, str]]:
    return [(step.verb, step.thing) for step in plan(goal)]


def test_what_is_filled_is_closed_last() -> None:
    drawer = "white_cabinet_1_bottom_region"
    assert order(("close", drawer), ("in", "bowl_1", drawer)) == [("put", "bowl_1"), ("close", drawer)]
    assert order(("close", "microwave_1"), ("in", "mug_1", "microwave_1_heating_region"))[-1] == (
        "close",
        "microwave_1",
    )


def test_what_is_only_closed_is_closed_first() -> None:
    goal = (("on", "bowl_1", "cabinet_1_top_side"), ("close", "cabinet_1_top_region"))
    assert order(*goal)[0] == ("close", "cabinet_1_top_region")
    assert order(("open", "c_1_top_region"), ("close", "c_1_bottom_region"))[0][0] == "close"


def test_the_lower_of_a_stack_is_put_first() -> None:
    goal = (("on", "bowl_1", "bowl_2"), ("in", "bowl_2", "tray_1_contain_region"))
    assert order(*goal) == [("put", "bowl_2"), ("put", "bowl_1")]


def test_a_stove_is_switched_before_it_is_filled() -> None:
    assert order(("on", "pot_1", "stove_1_cook_region"), ("turnon", "stove_1"))[0] == ("turn on", "stove_1")


def test_a_step_keeps_its_predicate_and_target() -> None:
    (step,) = plan([["in", "soup_1", "basket_1_contain_region"]])
    assert step.target == "basket_1_contain_region"
    assert step.predicate == ("in", "soup_1", "basket_1_contain_region")


@pytest.mark.parametrize("predicate", [("up", "bowl_1"), ("in", "bowl_1"), ("open", "a", "b")])
def test_a_goal_that_no_step_reaches_is_refused(predicate: tuple[str, ...]) -> None:
    with pytest.raises(InputError, match="no expert makes"):
        plan([predicate])
