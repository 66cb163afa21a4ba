"""Push-T episodes as a pure function of (split, seed, index)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from teachers.pusht.base import TableTeacher
from teachers.pusht.behaviours import RECIPES, Scene
from teachers.pusht.demonstrations import Demonstrations, demonstrations, find_demonstrations
from teachers.pusht.physics import PushTWorld
from teachers.pusht.pushes import clip
from teachers.pusht.starts import SEEDS
from teachers.pusht.teacher import PushTConfig, PushTTeacher
from teachers.recording import Split, options_for
from teachers.teacher import TeacherStep
from world_model.data.episode import Episode
from world_model.data.lerobot.layout import DatasetSpec
from world_model.errors import InputError

SHORTEST, LONGEST = 60, 100  # transitions of an episode; a replay may end sooner
TASK = "Push the T-shaped block onto the T-shaped target."


@dataclass(frozen=True)
class Plan:
    """What is settled about an episode before its first step."""

    behaviour: str
    start: str
    transitions: int
    script: NDArray[np.float32]  # (n, 2) px; actions to replay, if any
    generator: np.random.Generator


class PushTRecorder:
    """Records a mixture of `RECIPES`: all of them, or those that the option "behaviours" names.

    The other ``options`` are fields of ``config_type``. Human demonstrations take part in the train and test splits
    where they are at hand.

    Raises:
        InputError: an unknown behaviour, or none that this split can record.
    """

    config_type: ClassVar[type[Any]] = PushTConfig
    teacher_type: ClassVar[type[Any]] = PushTTeacher

    def __init__(self, split: Split, seed: int, options: Mapping[str, Any] | None = None) -> None:
        self.split, self.seed = split, seed
        given = options_for("Push-T", options or {}, self.config_type, ("behaviours",))
        chosen = tuple(given.pop("behaviours", ())) or tuple(RECIPES)
        self._config = self.config_type(**given)
        self.teacher: TableTeacher = self.teacher_type(self._config)
        self.spec = DatasetSpec(
            contract=self.teacher.contract,
            state_names=self.teacher.state_names,
            label_names=self.teacher.label_names,
            tasks=(TASK,),
            robot="pusht",
            split=split,
            seed=seed,
        )
        self._sandbox = PushTWorld()
        folder = find_demonstrations(self._config.demonstrations)
        self._humans = demonstrations(folder) if folder and split != "validation" else None
        self._names = _recordable(chosen, bool(self._humans))
        shares = np.array([RECIPES[name].share for name in self._names])
        self._shares = shares / shares.sum()

    def describe(self) -> dict[str, Any]:
        config = {k: v for k, v in asdict(self._config).items() if k != "demonstrations"}
        humans = len(self._humans) if self._humans else 0
        behaviours = {"behaviours": self._names, "human_demonstrations": humans}
        return {"split": self.split, "seed": self.seed, **config, **behaviours}

    def length(self, index: int) -> int:
        return self.plan(index).transitions + 1

    def plan(self, index: int) -> Plan:
        """Behaviour, start and length of episode ``index``."""
        low, high = SEEDS[self.split]
        generator = np.random.default_rng([low, self.seed, index])
        name = str(generator.choice(self._names, p=self._shares))
        kind = str(generator.choice(RECIPES[name].starts))
        transitions = int(generator.integers(SHORTEST, LONGEST + 1))
        script = np.zeros((0, 2), np.float32)
        if kind == "human" and self._humans:
            start, script = _cut(self._humans, self.split, generator)
            transitions = min(transitions, len(script))
        else:
            start = f"{kind}-{generator.integers(low, high)}"
        return Plan(name, start, transitions, script, generator)

    def record(self, index: int) -> Episode:
        plan, teacher = self.plan(index), self.teacher
        observation = teacher.reset(plan.start)
        steps, targets, states = [TeacherStep(observation, teacher.labels())], [], [teacher.state]
        scene = Scene(teacher, self._sandbox, plan.generator, plan.script)
        behaviour = RECIPES[plan.behaviour].behaviour(scene)
        for _ in range(plan.transitions):
            targets.append(clip(next(behaviour)).astype(np.float32)[None])
            steps.append(teacher.step(targets[-1]))
            states.append(teacher.state)
        return Episode(
            frames=np.stack([s.observation.frames["top"] for s in steps]),
            proprio=np.stack([s.observation.proprio for s in steps]),
            actions=np.stack(targets),
            state=np.stack(states).astype(np.float32),
            labels={k: np.array([s.labels[k] for s in steps], np.float32) for k in teacher.label_names},
            start=plan.start,
            behaviour=plan.behaviour,
        )


def _recordable(chosen: tuple[str, ...], with_humans: bool) -> list[str]:
    unknown = sorted(set(chosen) - set(RECIPES))
    if unknown:
        raise InputError(f"behaviour {unknown[0]!r} is unknown; choose among {list(RECIPES)}")
    names = [n for n, r in RECIPES.items() if n in chosen and (with_humans or "human" not in r.starts)]
    if not names:
        raise InputError(
            f"behaviours {list(chosen)} replay human demonstrations, which this split has none of; choose others"
        )
    return names


def _cut(humans: Demonstrations, split: Split, generator: np.random.Generator) -> tuple[str, NDArray[np.float32]]:
    """Start within a demonstration of the split, and the actions from there on."""
    first, last = (0, humans.train_count) if split == "train" else (humans.train_count, len(humans))
    number = int(generator.integers(first, last))
    actions = humans.targets(number)
    step = int(generator.integers(0, max(1, len(actions) - SHORTEST)))
    return f"human-{number}-{step}", actions[step:]
