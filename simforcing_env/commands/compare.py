"""Run the same policies from the same starts in a learned environment and in its teacher: is its score to be trusted?

Every policy runs from every start in the teacher, in the learned environment, and in the teacher once more with other
seeds: what two true runs differ by is the noise floor. A success is the environment's own, the learned head's on
generated frames. Each episode is a line of the ledger beside --json; an interrupted run goes on from there, and the
report is made of the ledger alone. Policies are given as NAME:SETTINGS+WRAPPER:SETTINGS (see simforcing_env.policies).
bias is the mean size of a policy's imagined less true score; mmrv the mean of each policy's worst misranking.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from simforcing_env.commands.checks import at_least, results_file, share, some

if TYPE_CHECKING:
    from simforcing_env.evaluation.comparison.protocol import Protocol
    from simforcing_env.evaluation.comparison.running import Worlds


@dataclass(frozen=True)
class Config:
    """Options of ``simforcing compare``."""

    policies: tuple[str, ...]
    """Specifications, such as pusht:tries=8 random pusht+noise:scale=0.1."""
    env: str = "SimForcing/PushT-v0"
    """Id of a learned environment; its teacher is the one of the same world."""
    checkpoint: str | None = None
    """Another checkpoint of that world: folder, packaged name or hub id."""
    starts: tuple[str, ...] = ()
    """Names of starts; by default the first --episodes of the split."""
    episodes: int = 25
    """Starts of each task."""
    split: Literal["validation", "test"] = "validation"
    """Of the starts; test is for final reports."""
    frames: int = 200
    """Frames after which an episode has failed."""
    execute: int = 0
    """Most actions of a plan that are carried out before the policy is asked again; 0 for all of them."""
    batch: int = 25
    """Episodes side by side; another number is another protocol."""
    threshold: float = 0.5
    """Success probability above which a generated frame is a success."""
    history: int | None = None
    """Known frames; by default the checkpoint's."""
    sampler_steps: int | None = None
    """Steps of the sampler; by default the checkpoint's."""
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    """Of the denoiser."""
    device: str = "auto"
    """auto, cpu or cuda."""
    seed: int = 0
    """Of episodes and intervals."""
    pixel_apart: float = 12.0
    """Grey levels from which two frames have parted."""
    proprio_apart: float = 0.05
    """Share of its range from which proprio has parted."""
    state_apart: float = 12.0
    """Distance of objects, px in Push-T, from which their states have parted."""
    noise_floor: bool = True
    """Also run the teacher with other seeds."""
    timing: bool = True
    """Report how much faster the learned evaluation was; leave it out where other programs ran beside."""
    report_only: bool = False
    """Run nothing: report what the ledger holds."""
    json: Path = Path("results/compare.json")
    """Results; ledger, protocol, tables, films and a page go beside it."""
    threads: int = 1
    """CPU threads."""


def run(config: Config) -> None:
    """Run what the ledger lacks, then report."""
    import torch

    from simforcing_env.evaluation.comparison.films import FilmMaker
    from simforcing_env.evaluation.comparison.outcome import read_outcomes
    from simforcing_env.evaluation.comparison.protocol import SIDES
    from simforcing_env.evaluation.comparison.report import write_report
    from simforcing_env.evaluation.comparison.running import run_comparison
    from simforcing_env.evaluation.comparison.starts import first_starts
    from simforcing_env.evaluation.progress import counting
    from simforcing_env.policies.registry import make_policies

    some(policies=config.policies)
    at_least(1, episodes=config.episodes, frames=config.frames, batch=config.batch, threads=config.threads)
    at_least(0, execute=config.execute, seed=config.seed)
    share(threshold=config.threshold)
    results_file(config.json)
    torch.set_num_threads(config.threads)
    protocol, worlds = _open(config)
    policies = make_policies(config.policies, worlds.contract)
    starts = config.starts or first_starts(worlds.contract.name, config.split, config.episodes)
    ledger = config.json.with_suffix(".ledger.jsonl")
    films = FilmMaker(config.json.with_suffix(".films"), worlds.contract.frame_hz)
    if config.report_only:
        outcomes = read_outcomes(ledger, protocol.hash)
    else:
        with counting("batches", len(policies) * -(-len(starts) // config.batch)) as step:
            outcomes = run_comparison(
                worlds,
                policies,
                starts,
                ledger,
                watch=films.watch,
                step=step,
                sides=SIDES if config.noise_floor else SIDES[:2],
            )
    worlds.close()
    write_report(config.json, protocol, outcomes, config.seed, config.timing, worlds.device)
    print(f"written: {config.json}, ledger, tables, films and page beside it")


def _open(config: Config) -> tuple[Protocol, Worlds]:
    from simforcing_env.evaluation.comparison.protocol import Protocol
    from simforcing_env.evaluation.comparison.running import Worlds
    from simforcing_env.evaluation.loading import open_simulator
    from simforcing_env.registration import WORLDS
    from world_model.errors import ContractError, InputError
    from world_model.runtime import resolve_device

    world = next((world for world in WORLDS if world.id == config.env), None)
    if world is None:
        known = ", ".join(world.id for world in WORLDS)
        raise InputError(f"--env is {config.env!r}, which is no learned environment; choose among {known}")
    device = resolve_device(config.device)
    simulator = open_simulator(config.checkpoint or world.checkpoint, device)
    if simulator.contract.name != world.name:
        raise ContractError(
            f"{config.checkpoint} simulates {simulator.contract.name!r} but {config.env} is {world.name!r}"
        )
    options = asdict(config)
    same = (
        "frames",
        "execute",
        "batch",
        "seed",
        "threshold",
        "precision",
        "pixel_apart",
        "proprio_apart",
        "state_apart",
    )
    protocol = Protocol(
        env=world.id,
        teacher=world.teacher_id,
        checkpoint=simulator.hash,
        contract=simulator.contract.hash,
        history=config.history or simulator.history,
        sampler_steps=config.sampler_steps or simulator.sampler.steps,
        **{name: options[name] for name in same},
    )
    return protocol, Worlds(protocol, simulator, device)
