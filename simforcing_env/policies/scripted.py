"""Push-T policies that need no training: they read the picture, try pushes in their own physics and do the best one.

Their settings grade them, from nearly always right down to nearly never.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from simforcing_env.policies.policy import Observation, Task, generators, policy_hash
from world_model.contract import Contract
from world_model.errors import InputError
from world_model.extras import require
from world_model.rules import Number, Rule, Whole, settle

if TYPE_CHECKING:
    from teachers.pusht.physics import Pose, PushTWorld
    from teachers.pusht.pushes import Push

RULES: Mapping[str, Rule] = {
    "tries": Whole(1, 1000),
    "blur": Number(0, 500),
    "turn": Number(0, 360),
    "fumble": Number(0, 1),
    "gain": Number(0.1, 10),
    "horizon": Whole(1, 256),
}
SETTLE = 2  # control steps of standing still before a push, and after it in the trial
WAIT = 8  # control steps before it looks for a push again where none was any good
TRAVEL = 80.0  # px a step on the way to a push


@dataclass(frozen=True)
class PushTSkill:
    """How good a scripted policy is."""

    tries: int = 12
    """Pushes that are tried in the sandbox before one is done."""
    blur: float = 0.0
    """Standard deviation in px of the error with which the block's place is seen."""
    turn: float = 0.0
    """The same in degrees of its angle."""
    fumble: float = 0.0
    """Share of pushes that are done at random."""
    gain: float = 1.0
    """Factor by which pushes are longer than planned: 1 is right."""
    horizon: int = 4
    """Actions for one look at the picture."""

    def __post_init__(self) -> None:
        settle(self, RULES)


class PushTScripted:
    """Sees the block by the packaged pose reader and the pusher by proprio; see `PushTSkill`.

    Raises:
        InputError: a contract other than Push-T's.
        MissingExtraError: the simulator, in which pushes are tried, is not installed.
    """

    def __init__(self, contract: Contract, skill: PushTSkill | None = None, name: str = "pusht") -> None:
        if contract.name != "pusht":
            raise InputError(f"policy 'pusht' pushes the block of Push-T but the world is {contract.name!r}")
        from simforcing_env.evaluation.pose_reader import PACKAGED, load_reader

        physics = require("teachers.pusht.physics", "pusht")
        self.name, self.skill = name, skill or PushTSkill()
        self.hash = policy_hash("pusht-scripted", asdict(self.skill), PACKAGED / "model.safetensors")
        self.horizon = self.skill.horizon
        self._reader, self._sandbox, self._goal = load_reader(), physics.PushTWorld(), physics.Pose(*physics.STOCK_GOAL)
        self._minds: list[_Mind] = []

    def reset(self, seeds: Sequence[int], tasks: Sequence[Task]) -> None:
        self._minds = [_Mind(self.skill, self._look, self._sandbox, self._goal, g) for g in generators(seeds, 7)]

    def _look(self, image: NDArray[np.uint8]) -> Pose:
        seen = self._reader.read(image[None])
        return type(self._goal)(float(seen.block[0, 0]), float(seen.block[0, 1]), float(seen.angle[0]))

    def act(self, observation: Observation) -> NDArray[np.float32]:
        chunks = []
        for row, mind in enumerate(self._minds):
            mind.see(observation["image"][row], observation["proprio"][row])
            chunks.append([next(mind.plan) for _ in range(self.horizon)])
        return np.clip(np.array(chunks), 0.0, 512.0).astype(np.float32)


class _Mind:
    """What one episode's pusher knows and plans; it looks at the picture only when it chooses a push."""

    def __init__(
        self,
        skill: PushTSkill,
        look: Callable[[NDArray[np.uint8]], Pose],
        sandbox: PushTWorld,
        goal: Pose,
        generator: np.random.Generator,
    ) -> None:
        self.skill, self.look, self.sandbox, self.goal, self.generator = skill, look, sandbox, goal, generator
        self.agent = np.zeros(2)  # px, as seen last
        self._image: NDArray[np.uint8] | None = None
        self._block: Pose | None = None
        self.plan = self._pushes()

    def see(self, image: NDArray[np.uint8], proprio: NDArray[np.float32]) -> None:
        """Take in a new observation."""
        self.agent, self._image, self._block = proprio.astype(np.float64), image, None

    @property
    def block(self) -> Pose:
        """Where the block is in the last picture."""
        if self._block is None:
            assert self._image is not None
            self._block = self.look(self._image)
        return self._block

    def _pushes(self) -> Iterator[NDArray[np.float64]]:
        from teachers.pusht.behaviours import approach
        from teachers.pusht.pushes import clip

        while True:
            chosen = self._choose()
            if chosen is None:
                yield from [self.agent] * WAIT
                continue
            yield from approach(self, chosen, TRAVEL)
            for _ in range(SETTLE):
                yield clip(chosen.approach)
            targets = chosen.targets()
            yield from targets
            for _ in range(SETTLE):
                yield targets[-1]

    def _choose(self) -> Push | None:
        """The best of some pushes by what they leave of the way to the goal, or one at random."""
        from teachers.pusht.pushes import WALL, clip, misfit, outcome, random_push

        draw, skill = self.generator, self.skill
        error = draw.normal(0.0, 1.0, 3) * (skill.blur, skill.blur, np.radians(skill.turn))
        block = type(self.goal)(*(np.array(self.block) + error))
        present = misfit(block, self.goal)
        at_random = draw.random() < skill.fumble
        best, least = None, present - 0.3
        for _ in range(skill.tries):
            length = draw.uniform(0.1, 1.3) * min(present, 120.0) + 1.0
            pushed = random_push(block, draw, draw.uniform(3.0, 9.0), length, draw.uniform(0.15, 0.5) * length + 3.0)
            if np.any(pushed.approach != clip(pushed.approach, WALL)):
                continue
            if at_random:
                return pushed
            way = float(np.hypot(*(pushed.approach - self.agent)))
            left = misfit(outcome(self.sandbox, block, pushed, SETTLE), self.goal) + 0.01 * way
            if left < least:
                best, least = pushed, left
        return None if best is None else replace(best, length=best.length * skill.gain)
