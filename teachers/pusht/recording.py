"""Push-T episodes as a pure function of (split, seed, index)."""

from __future__ import annotations

import numpy as np

from teachers.pusht.behaviours import RECIPES, Scene
from teachers.pusht.demonstrations import demonstrations, find_demonstrations
from teachers.pusht.physics import PushTWorld
from teachers.pusht.pushes import clip
from teachers.pusht.starts import SEEDS, Split
from teachers.pusht.teacher import PushTConfig, PushTTeacher
from teachers.teacher import TeacherStep
from world_model.data.episode import Episode

SHORTEST, LONGEST = 60, 100  # transitions of an episode; a replay may end sooner


class PushTRecorder:
    """Records the mixture of `RECIPES`; needs the human demonstrations only for its train and test splits."""

    def __init__(self, split: Split, seed: int, config: PushTConfig | None = None) -> None:
        self.split, self.seed = split, seed
        self.teacher = PushTTeacher(config)
        self._sandbox = PushTWorld()
        self._with_humans = split != "validation" and find_demonstrations(self.teacher.config.demonstrations) is not None
        self._names = [n for n, r in RECIPES.items() if self._with_humans or "human" not in r.starts]
        shares = np.array([RECIPES[name].share for name in self._names])
        self._shares = shares / shares.sum()

    def record(self, index: int) -> Episode:
        """Episode ``index`` of this split and seed: the same whenever and wherever it is asked for."""
        low, high = SEEDS[self.split]
        generator = np.random.default_rng([low, self.seed, index])
        name = str(generator.choice(self._names, p=self._shares))
        recipe = RECIPES[name]
        kind = generator.choice(recipe.starts)
        length = int(generator.integers(SHORTEST, LONGEST + 1))
        script = np.zeros((0, 2), np.float32)
        if kind == "human":
            human = demonstrations(self.teacher.config.demonstrations)
            first, last = (0, human.train_count) if self.split == "train" else (human.train_count, len(human))
            number = int(generator.integers(first, last))
            actions = human.targets(number)
            step = int(generator.integers(0, max(1, len(actions) - SHORTEST)))
            start, script = f"human-{number}-{step}", actions[step:]
        else:
            start = f"{kind}-{generator.integers(low, high)}"
        observation = self.teacher.reset(start)
        steps, targets, states = [TeacherStep(observation, self.teacher.labels())], [], [self.teacher.state]
        scene = Scene(self.teacher, self._sandbox, generator, script)
        for target, _ in zip(recipe.behaviour(scene), range(length), strict=False):
            action = clip(target).astype(np.float32)[None]
            targets.append(action)
            steps.append(self.teacher.step(action))
            states.append(self.teacher.state)
        return Episode(
            frames=np.stack([s.observation.frames["top"] for s in steps]),
            proprio=np.stack([s.observation.proprio for s in steps]),
            actions=np.stack(targets),
            state=np.stack(states).astype(np.float32),
            labels={k: np.array([s.labels[k] for s in steps], np.float32) for k in self.teacher.label_names},
            start=start,
            behaviour=name,
        )
