"""Train a diffusion policy on demonstrations; a killed run goes on when the same command is given again.

Push-T: it learns from human demonstrations (zarr) and from recorded data sets. It sees key points of the block, which
the packaged pose reader finds in the picture, or looks at the pixels itself. LIBERO: it learns from the recorded
episodes that end in success, is told the task, and sees key points of all things, which the reader of a world model
finds in the pictures. One policy does all tasks of its suite.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from simforcing_env.commands.checks import above, at_least

if TYPE_CHECKING:
    from simforcing_env.policies.diffusion_data import Moments
    from world_model.contract import Contract
    from world_model.data.lerobot.reader import LeRobotDataset


@dataclass(frozen=True)
class Schedule:
    """How long and how fast it learns; see `PolicyTraining`."""

    cpu_minutes: float = 10.0
    """Budget of processor time, that of interrupted runs included."""
    steps: int | None = None
    """End after so many steps if that is sooner."""
    batch: int = 256
    """Moments per step."""
    learning_rate: float = 1e-3
    """Highest one; it falls along a cosine."""
    blur: float = 0.004
    """Standard deviation of the noise on what it sees while it learns, in [-1, 1]: as its reader errs."""
    keep: tuple[float, ...] = (0.05, 0.2)
    """Parts of the budget at which a checkpoint is kept, for policies of lower quality."""


@dataclass(frozen=True)
class Config:
    """Options of ``simforcing policy train``."""

    out: Path
    """Folder of the run: resumable state and checkpoints."""
    dataset: Annotated[tuple[Path, ...], tyro.conf.UseAppendAction] = ()
    """LeRobot v3.0 folder to learn from, repeatable."""
    behaviours: tuple[str, ...] = ()
    """Behaviours of the data sets to learn from; by default all."""
    per_task: int = 0
    """Episodes of each task, the first of those that are chosen; 0 for all."""
    solved: bool | None = None
    """Learn from episodes that end in success alone, up to there; by default where actions are relative."""
    demonstrations: Path | None = None
    """Push-T: zarr folder of the human demonstrations, of which the training part is used."""
    demonstration_weight: int = 1
    """How often a moment of theirs is seen for one of the data sets."""
    eyes: Literal["points", "pixels", "scene"] | None = None
    """What it sees; by default points of Push-T, the scene of other worlds."""
    reader: str | None = None
    """Checkpoint with whose reader it sees the scene; by default the one that ships for the world."""
    mirror: bool = True
    """Push-T with its stock goal: learn from the mirror images of all moments too."""
    horizon: int = 16
    """Actions of a chunk."""
    width: int = 256
    """Of its network."""
    layers: int = 4
    """Of its network."""
    schedule: Schedule = field(default_factory=Schedule)
    seed: int = 0
    """Of the first weights, the noise and the order of moments."""
    threads: int = 1
    """CPU threads; more than the free cores makes training many times slower."""


def run(config: Config) -> None:
    """Read, train, leave checkpoints."""
    import torch

    from simforcing_env.evaluation.progress import spending
    from simforcing_env.policies.diffusion import new_policy
    from simforcing_env.policies.diffusion_data import Moments, mirrored
    from simforcing_env.policies.diffusion_training import PolicyTrainer, PolicyTraining
    from world_model.errors import InputError

    plan = config.schedule
    at_least(1, threads=config.threads, horizon=config.horizon, width=config.width, layers=config.layers)
    at_least(1, schedule__batch=plan.batch, schedule__steps=plan.steps)
    at_least(1, demonstration_weight=config.demonstration_weight)
    at_least(0, seed=config.seed, per_task=config.per_task)
    above(0, schedule__cpu_minutes=plan.cpu_minutes, schedule__learning_rate=plan.learning_rate)
    if not config.dataset and config.demonstrations is None:
        raise InputError("there is nothing to learn from; give --dataset or --demonstrations")
    torch.set_num_threads(config.threads)
    contract, data = _open(config)
    kind = config.eyes or ("points" if contract.name == "pusht" else "scene")
    if kind == "pixels" and config.demonstrations is not None:
        raise InputError("--demonstrations have no pictures; record them with simforcing collect and give --dataset")
    eyes = EYES[kind](config, contract, data)
    moments = Moments.join(_read(config, contract, data, eyes))
    if config.mirror and kind == "points" and contract.name == "pusht":
        moments = Moments.join([moments, mirrored(moments)])
    policy = new_policy(contract, eyes, horizon=config.horizon, width=config.width, layers=config.layers)
    training = PolicyTraining(
        plan.cpu_minutes, plan.steps, plan.batch, plan.learning_rate, blur=plan.blur, keep=plan.keep
    )
    about = {"eyes": kind, "width": config.width, "layers": config.layers, "horizon": config.horizon}
    trainer = PolicyTrainer(policy, moments, training, config.out, config.seed, about)
    print(f"{len(moments):,} moments")
    with spending("training the policy") as report:
        trainer.run(report)
    print(f"checkpoint: {config.out / 'checkpoint'}")


def _open(config: Config) -> tuple[Contract, list[LeRobotDataset]]:
    from world_model.data.lerobot.reader import read_dataset
    from world_model.extras import require

    data = [read_dataset(folder) for folder in config.dataset]
    contract = data[0].contract if data else require("teachers.pusht.contract", "pusht").pusht_contract()
    for other, folder in zip(data, config.dataset, strict=True):
        contract.require_same(other.contract, str(config.dataset[0]), str(folder))
    return contract, data


def _points(config: Config, contract: Contract, data: list[LeRobotDataset]) -> Any:
    from simforcing_env.policies.eyes import PointConfig, PointEyes

    return PointEyes(PointConfig(contract.proprio_dim))


def _pixels(config: Config, contract: Contract, data: list[LeRobotDataset]) -> Any:
    from simforcing_env.policies.eyes import PixelConfig, PixelEyes

    return PixelEyes(PixelConfig(contract.proprio_dim))


def _scene(config: Config, contract: Contract, data: list[LeRobotDataset]) -> Any:
    from simforcing_env.evaluation.loading import open_simulator
    from simforcing_env.policies.scene_eyes import scene_eyes
    from simforcing_env.registration import WORLDS
    from world_model.errors import InputError
    from world_model.training.recipes import RECIPES
    from world_model.training.state_encoding import SceneEncoding

    shipped = next((world.checkpoint for world in WORLDS if world.name == contract.name), None)
    name = config.reader or shipped
    if name is None:
        raise InputError(f"no checkpoint ships for {contract.name!r}; give one with --reader, or choose --eyes pixels")
    simulator = open_simulator(name)
    contract.require_same(simulator.contract, str(config.dataset[0]), name)
    recipe = RECIPES.get(str(simulator.recipe.get("name")))
    if recipe is None or not isinstance(recipe.train.state, SceneEncoding):
        raise InputError(f"checkpoint {name} was not trained to read a scene; give one of a LIBERO suite with --reader")
    return scene_eyes(simulator, recipe.train.state, len(data[0].tasks))


EYES: dict[str, Callable[[Config, Contract, list[LeRobotDataset]], Any]] = {
    "points": _points,
    "pixels": _pixels,
    "scene": _scene,
}
"""What --eyes names to what makes them."""


def _read(config: Config, contract: Contract, data: list[LeRobotDataset], eyes: Any) -> list[Moments]:
    from simforcing_env.policies.diffusion_data import Choice, demonstrated_moments, recorded_moments

    moves = any(dim.kind == "relative" for dim in contract.actions)
    choice = Choice(config.behaviours, config.per_task, moves if config.solved is None else config.solved)
    points_of = getattr(eyes, "points_of", None)
    parts = [recorded_moments(each, config.horizon, choice, points_of=points_of) for each in data]
    if config.demonstrations is not None:
        found = demonstrated_moments(config.demonstrations, contract, config.horizon)
        parts += [found] * config.demonstration_weight
    return parts
