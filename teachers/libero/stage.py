"""One world for all teachers of a task in this process: each has its own moment, and the world goes to whoever acts.

Going to another's moment costs under a millisecond, while a world of one's own would cost seconds and, with pictures,
about a gigabyte.
"""

from __future__ import annotations

import gc
import weakref
from collections import deque
from collections.abc import Callable, Hashable
from typing import Any, Generic, Protocol, TypeVar

from teachers.libero.physics import Saved


class World(Protocol):
    """What can be shared."""

    def snapshot(self) -> Saved: ...

    def restore(self, saved: Saved) -> None: ...


W = TypeVar("W", bound=World)
RECENT = 2  # worlds kept alive though nobody uses them, for who comes back to a task

_stages: weakref.WeakValueDictionary[Hashable, Stage[Any]] = weakref.WeakValueDictionary()
_recent: deque[Stage[Any]] = deque(maxlen=RECENT)


class Actor:
    """Someone with a moment of his own in a shared world."""

    def __init__(self, moment: Saved | None = None) -> None:
        self.moment = moment


class Stage(Generic[W]):
    """A world and the actor whose moment it is in."""

    def __init__(self, world: W) -> None:
        self._world = world
        self._actor: weakref.ref[Actor] | None = None

    def enter(self, actor: Actor) -> W:
        """The world in the actor's moment; another's is put aside first. A new actor must reset or restore it."""
        present = self._actor() if self._actor is not None else None
        if present is not actor:
            if present is not None:
                present.moment = self._world.snapshot()
            if actor.moment is not None:
                self._world.restore(actor.moment)
            self._actor = weakref.ref(actor)
        return self._world


def stage_for(key: Hashable, make: Callable[[], W]) -> Stage[W]:
    """The process's stage of that key, made if nobody has it."""
    stage = _stages.get(key)
    if stage is None:
        gc.collect()  # worlds that nobody uses hang in cycles, about a gigabyte each with pictures
        stage = _stages[key] = Stage(make())
    if stage not in _recent:
        _recent.append(stage)
    return stage
