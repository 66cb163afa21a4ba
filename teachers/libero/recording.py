"""LIBERO episodes as a pure function of (split, seed, index)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from teachers.libero.behaviours import OPEN, RECIPES, STAY, Scene, different_goals, holds, recordable, wander
from teachers.libero.flat_state import flatten
from teachers.libero.layout import layout_of
from teachers.libero.object_state import ObjectState
from teachers.libero.suites import SPLITS, find_task, tasks
from teachers.libero.teacher import LiberoConfig, LiberoTeacher
from teachers.recording import RECORDERS, Split, options_for
from teachers.teacher import TeacherObservation
from world_model.canvas import join
from world_model.data.episode import Episode
from world_model.data.lerobot.layout import DatasetSpec

BLOCK = RECORDERS["libero"].episodes_per_shard  # episodes of one task that follow each other
SECONDS = {"libero_10": 26, "libero_90": 20}  # the longest episode; 14 for the others
PRELUDE = 0.3  # share of episodes in which the arm wanders before it begins
WANDERING = 10  # seconds, of the episodes that are nothing but that


@dataclass(frozen=True)
class Plan:
    """What is settled about an episode before its first step."""

    behaviour: str
    start: str
    prelude: int
    """Control steps of wandering before the behaviour."""
    after: int
    """Frames that are recorded after a success."""
    leaves: bool
    """Whether the arm wanders then, and maybe undoes its success."""
    generator: np.random.Generator


class LiberoRecorder:
    """Records a mixture of `RECIPES`: all of them, or those that the option "behaviours" names.

    Episodes come in blocks of one task, so that a worker seldom changes scenes; the tasks take turns. The other options
    are "tasks" (numbers or names; all by default) and the fields of `LiberoConfig`.

    Raises:
        InputError: an unknown option, suite, task, camera, look or behaviour.
    """

    def __init__(self, split: Split, seed: int, options: Mapping[str, Any] | None = None) -> None:
        self.split, self.seed = split, seed
        config = options_for("LIBERO", options or {}, LiberoConfig, ("behaviours", "tasks"))
        self._names = recordable(tuple(config.pop("behaviours", ())))
        chosen = config.pop("tasks", ())
        self.teacher = LiberoTeacher(LiberoConfig(**config))
        suite = self.teacher.config.suite
        known = tasks(suite)
        self._tasks = sorted({find_task(suite, task).index for task in chosen}) or list(range(len(known)))
        layout = layout_of(suite)
        self._objects = ObjectState(layout, self.teacher.config.cameras)
        self._goals = different_goals(suite)
        self.spec = DatasetSpec(
            contract=self.teacher.contract,
            state_names=self._objects.names,
            label_names=(*self.teacher.label_names, *(f"success_{i}" for i in range(len(self._goals)))),
            tasks=tuple(task.language for task in known),
            robot="panda",
            split=split,
            seed=seed,
            simulation_width=layout.simulation_width,
        )
        shares = np.array([RECIPES[name].share for name in self._names])
        self._shares = shares / shares.sum()
        self._longest = int(SECONDS.get(suite, 14) * self.teacher.contract.frame_hz)

    def describe(self) -> dict[str, Any]:
        config = asdict(self.teacher.config)
        return {"split": self.split, "seed": self.seed, **config, "tasks": self._tasks, "behaviours": self._names}

    def length(self, index: int) -> int | None:
        """Not known before: an episode ends with its success."""
        return None

    def plan(self, index: int) -> Plan:
        """Start and behaviour of episode ``index``; the starts of a task come in a shuffled order, each in turn."""
        inits = SPLITS[self.split]
        block, place = divmod(index, BLOCK)
        round_, turn = divmod(block, len(self._tasks))
        task, number = self._tasks[turn], round_ * BLOCK + place
        cycle, place = divmod(number, len(inits))
        init = np.random.default_rng([inits.start, self.seed, task, cycle]).permutation(inits)[place]
        generator = np.random.default_rng([inits.start, self.seed, index])
        return Plan(
            behaviour=str(generator.choice(self._names, p=self._shares)),
            start=f"{self.teacher.config.suite}/{task}/{init}",
            prelude=int(generator.integers(4, 25)) if generator.random() < PRELUDE else 0,
            after=int(generator.integers(2, 7)),
            leaves=bool(generator.random() < 0.4),
            generator=generator,
        )

    def record(self, index: int) -> Episode:
        plan = self.plan(index)
        limit = self._longest if plan.behaviour != "wander" else int(WANDERING * self.teacher.contract.frame_hz)
        return self.play(
            plan.start, lambda world: Script(Scene(world, plan.generator), plan), limit, plan.after, plan.behaviour
        )

    def play(self, start: str, begin: Callable[[Any], Player], limit: int, after: int, behaviour: str) -> Episode:
        """What a player does from a start, with all that is recorded of it.

        Args:
            begin: makes the player of the world at its start.
            limit: frames at most.
            after: frames at most after its first success.
            behaviour: the episode's.
        """
        teacher = self.teacher
        frames = [teacher.reset(start)]
        world = teacher.world
        player, actions = begin(world), []
        player.see(frames[0])
        labels, rows = [self._labels()], [self._objects.read(world)]
        simulation = [flatten(world.snapshot(), self.spec.simulation_width)]
        left = limit
        while left > 0:
            taken, step = teacher.follow(player)
            player.see(step.observation)
            left -= 1
            actions.append(taken)
            frames.append(step.observation)
            labels.append(self._labels())
            rows.append(self._objects.read(world))
            simulation.append(flatten(world.snapshot(), self.spec.simulation_width))
            if step.labels["success_since"] and not player.succeeded:
                player.succeeded, left = True, min(left, after)
            elif player.over and not player.succeeded:
                left = min(left, 3)
        return Episode(
            frames=np.stack([join(teacher.contract, seen.frames) for seen in frames]),
            proprio=np.stack([seen.proprio for seen in frames]),
            actions=np.stack(actions),
            state=np.stack(rows).astype(np.float32),
            labels={name: np.array([row[name] for row in labels], np.float32) for name in self.spec.label_names},
            start=start,
            behaviour=behaviour,
            task=find_task(*start.split("/")[:2]).index,
            simulation=np.stack(simulation),
        )

    def _labels(self) -> dict[str, float]:
        world = self.teacher.world
        return {
            **self.teacher.labels(),
            **{f"success_{i}": float(holds(world, goal)) for i, goal in enumerate(self._goals)},
        }


class Player(Protocol):
    """Actions ``(7,)`` one by one, without end."""

    over: bool
    """It rests from now on."""
    succeeded: bool
    """Set by the recorder."""

    def see(self, observation: TeacherObservation) -> None:
        """What stands before it, after every frame and at the start."""

    def __iter__(self) -> Iterator[NDArray[np.floating]]: ...

    def __next__(self) -> NDArray[np.floating]: ...


class Script(Iterator[NDArray[np.floating]]):
    """The actions of an episode without end: a prelude, the behaviour, rest; after a success rest or wandering."""

    def __init__(self, scene: Scene, plan: Plan) -> None:
        self.over, self.succeeded = False, False
        self._wander = wander(scene)
        self._plan, self._prelude = plan, plan.prelude
        self._behaviour = RECIPES[plan.behaviour].behaviour(scene)

    def see(self, observation: TeacherObservation) -> None:
        """It knows the world by itself."""

    def __next__(self) -> NDArray[np.floating]:
        if self._prelude:
            self._prelude -= 1
            return np.append(next(self._wander)[:6], OPEN[6])
        if self.succeeded and self._plan.leaves:
            return next(self._wander)
        action = next(self._behaviour, None)
        self.over = self.over or action is None
        return STAY if action is None else action
