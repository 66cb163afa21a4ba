"""Train a diffusion policy on demonstrations; a killed run goes on when the same command is given again.

Push-T: it learns from human demonstrations (zarr) and from recorded data sets. It sees key points of the block, which
the packaged pose reader finds in the picture, or looks at the pixels itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from simforcing_env.commands.checks import above, at_least

if TYPE_CHECKING:
    from simforcing_env.policies.diffusion_data import Moments
    from world_model.contract import Contract


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
    demonstrations: Path | None = None
    """Push-T: zarr folder of the human demonstrations, of which the training part is used."""
    demonstration_weight: int = 1
    """How often a moment of theirs is seen for one of the data sets."""
    eyes: Literal["points", "pixels"] = "points"
    """What it sees."""
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
    from simforcing_env.policies.eyes import PixelConfig, PixelEyes
    from world_model.errors import InputError

    plan = config.schedule
    at_least(1, threads=config.threads, horizon=config.horizon, width=config.width, layers=config.layers)
    at_least(1, schedule__batch=plan.batch, schedule__steps=plan.steps)
    at_least(1, demonstration_weight=config.demonstration_weight)
    at_least(0, seed=config.seed)
    above(0, schedule__cpu_minutes=plan.cpu_minutes, schedule__learning_rate=plan.learning_rate)
    pixels = config.eyes == "pixels"
    if not config.dataset and config.demonstrations is None:
        raise InputError("there is nothing to learn from; give --dataset or --demonstrations")
    if pixels and config.demonstrations is not None:
        raise InputError("--demonstrations have no pictures; record them with simforcing collect and give --dataset")
    torch.set_num_threads(config.threads)
    contract, parts = _read(config, pixels)
    moments = Moments.join(parts)
    if config.mirror and not pixels and contract.name == "pusht":
        moments = Moments.join([moments, mirrored(moments)])
    eyes = PixelEyes(PixelConfig(contract.proprio_dim)) if pixels else None
    policy = new_policy(contract, eyes, horizon=config.horizon, width=config.width, layers=config.layers)
    training = PolicyTraining(plan.cpu_minutes, plan.steps, plan.batch, plan.learning_rate, keep=plan.keep)
    about = {"eyes": config.eyes, "width": config.width, "layers": config.layers, "horizon": config.horizon}
    trainer = PolicyTrainer(policy, moments, training, config.out, config.seed, about)
    print(f"{len(moments):,} moments")
    with spending("training the policy") as report:
        trainer.run(report)
    print(f"checkpoint: {config.out / 'checkpoint'}")


def _read(config: Config, pixels: bool) -> tuple[Contract, list[Moments]]:
    from simforcing_env.policies.diffusion_data import demonstrated_moments, recorded_moments
    from world_model.data.lerobot.reader import read_dataset
    from world_model.extras import require

    data = [read_dataset(folder) for folder in config.dataset]
    contract = data[0].contract if data else require("teachers.pusht.contract", "pusht").pusht_contract()
    for other, folder in zip(data, config.dataset, strict=True):
        contract.require_same(other.contract, str(config.dataset[0]), str(folder))
    parts = [recorded_moments(d, config.horizon, config.behaviours, pictures=pixels) for d in data]
    if config.demonstrations is not None:
        found = demonstrated_moments(config.demonstrations, contract, config.horizon)
        parts += [found] * config.demonstration_weight
    return contract, parts
