"""Shared worlds of a process: who uses one, and what becomes of those that nobody uses."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from teachers.libero.stage import RECENT, Stage, stage_for


class Knotted:
    """A world that refers to itself, as a simulator and its renderer do."""

    def __init__(self) -> None:
        self.me = self

    def snapshot(self) -> None:
        return None

    def restore(self, saved: object) -> None:
        return None


@pytest.fixture
def no_automatic_collection() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_automatic_collection")
def test_worlds_that_nobody_uses_do_not_pile_up() -> None:
    alive: weakref.WeakSet[Knotted] = weakref.WeakSet()

    def make() -> Knotted:
        world = Knotted()
        alive.add(world)
        return world

    for task in range(10):
        stage_for(("test_stage", task), make)
        assert len(alive) <= RECENT + 2  # those kept, the newest, and the one that it pushed out


def test_a_world_is_shared_while_somebody_uses_it() -> None:
    first: Stage[Knotted] = stage_for("test_stage", Knotted)
    assert stage_for("test_stage", Knotted) is first
