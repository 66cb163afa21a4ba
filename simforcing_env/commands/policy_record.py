"""Record what a policy does in the true simulator as a data set: demonstrations for other policies, or rollouts to
train a world model on. A killed run goes on with the same command.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from simforcing_env.commands.checks import at_least

if TYPE_CHECKING:
    from teachers.recording import Split


@dataclass(frozen=True)
class Config:
    """Options of ``simforcing policy record``."""

    policy: str
    """Specification of the policy, such as ``pusht:tries=32`` or ``diffusion:FOLDER``."""
    out: Path
    """Folder of the data set; a folder with the same settings is continued."""
    simulator: str = ""
    """Packaged name or folder of a learned simulator, such as libero-goal-nano: its LIBERO suite is played, under its
    contract. Push-T without one."""
    episodes: int = 100
    """Rollouts, each from a random start of the split."""
    split: Literal["train", "validation", "test"] = "train"
    """Which starts."""
    transitions: int = 200
    """Actions of each rollout; those of LIBERO end with success."""
    execute: int = 8
    """Actions that the policy carries out before it is asked again."""
    noise: float = 0.0
    """Largest drift of a rollout's actions, in their units (px in Push-T)."""
    seed: int = 0
    """Of starts, the policy's noise and the drift."""
    workers: int = 1
    """Recording processes; their number does not change the result."""


def run(config: Config) -> None:
    """Record with a progress bar."""
    from teachers.recording import recordable

    at_least(1, episodes=config.episodes, transitions=config.transitions, execute=config.execute)
    at_least(1, workers=config.workers)
    at_least(0, seed=config.seed, noise=config.noise)
    options = {
        "policy": config.policy,
        "transitions": config.transitions,
        "execute": config.execute,
        "noise": config.noise,
    }
    teacher, per_shard = "pusht", 25
    if config.simulator:
        from simforcing_env.evaluation.loading import open_simulator

        contract = open_simulator(config.simulator).contract
        teacher = contract.name
        if recordable(teacher).arm:
            options["contract"], per_shard = contract.to_json(), recordable(teacher).episodes_per_shard
    record(options, config.split, config.out, config.episodes, config.seed, config.workers, teacher, per_shard)
    print(f"{config.out}: {config.episodes} episodes")


def record(
    options: dict[str, Any],
    split: Split,
    out: Path,
    episodes: int,
    seed: int,
    workers: int,
    teacher: str = "pusht",
    per_shard: int = 25,
) -> None:
    """Record rollouts of one split; a folder that holds some of them already is continued."""
    from simforcing_env.evaluation.progress import counting
    from simforcing_env.policies.recording import PolicyJob
    from teachers.collection import collect

    job = PolicyJob(teacher, split, seed, None, options, per_shard, episodes)
    with counting(f"recording {split} rollouts", episodes) as step:
        collect(job, out, workers, lambda done, total: step(done))
