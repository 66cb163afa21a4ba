"""The arms of SimForcing's study at equal training compute."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from world_model.codecs import save_codec
from world_model.codecs.making import make_codec
from world_model.training.recipes import recipe
from world_model.training.run import start_run
from world_model.training.sources import open_source


@dataclass(frozen=True)
class Arm:
    """Overrides of stage 2, and whether it goes on from stage 1."""

    title: str
    sets: tuple[str, ...] = ()
    staged: bool = True
    told: bool = True
    """Trained to be told of the simulator."""


ARMS: Mapping[str, Arm] = MappingProxyType(
    {
        "A": Arm("real only", ('side="real"',), staged=False, told=False),
        "B": Arm(
            "real and simulated, no distillation",
            ("train.model.loss.motion=0", "train.model.condition.present=0"),
            told=False,
        ),
        "C": Arm("B and distilled motion", ("train.model.condition.present=0",), told=False),
        "D": Arm("C and the simulator as a condition, with dropout and corruption"),
        "E": Arm("D without them", ("train.model.condition.present=1", "train.model.condition.corrupted=0")),
        "F": Arm("D told of the student's own simulation", ("train.model.own=1",)),
    }
)


@dataclass(frozen=True)
class Runs:
    """Where the arms of one seed are trained.

    ``minutes`` of processor time go to each arm: all to arms without stage 1, else ``first`` to stage 1, which they
    share, and the rest to stage 2. All of them have one codec, fitted to no more real frames than stage 2 is given.
    """

    pairs: Path
    held_out: Path
    out: Path
    seed: int
    minutes: float
    first: float
    recipe: str = "pusht-simforcing"
    sets: tuple[str, ...] = ()

    def train(self, name: str) -> Path:
        """Train an arm, or go on with it; its checkpoint."""
        arm = ARMS[name]
        if not arm.staged:
            return self._run(self.recipe, name, arm.sets, self.minutes, None)
        stage1 = self._run(f"{self.recipe}-stage1", "stage1", (), self.first, None)
        return self._run(self.recipe, name, arm.sets, self.minutes - self.first, stage1)

    def _run(self, recipe: str, name: str, sets: tuple[str, ...], minutes: float, initial: Path | None) -> Path:
        out = self.out / f"seed{self.seed}" / name
        trainer = start_run(
            recipe,
            (*self.sets, *sets, f"train.seed={self.seed}"),
            dataset=self.pairs,
            held_out=self.held_out,
            out=out,
            codec=self._codec(),
            initial=initial,
        )
        if trainer.seconds < 60 * minutes:
            trainer.run(cpu_minutes=minutes)
        trainer.close()
        return out / "checkpoint"

    def _codec(self) -> Path:
        out = self.out / "codec"
        if not out.exists():
            plan = recipe(self.recipe, self.sets)
            source = open_source(self.pairs, plan.side, plan.episodes)
            pictures = source.pictures(source.windows(plan.train.windows, plan.train.state))
            save_codec(make_codec(plan.codec, pictures, f"codec of recipe {self.recipe!r}"), out)
        return out
