"""Run the same policies from the same starts in a learned environment and in its teacher: is its score to be trusted?

Every policy runs from every start in the teacher, in the learned environment, and in the teacher once more with other
seeds: what two true runs differ by is the noise floor. The simulators themselves are deterministic: seeds reach the
policies' own randomness alone, so a comparison of policies without any has a floor of 0. A success is the environment's
own, the learned head's on generated frames. Each episode is a line of the ledger beside --json; an interrupted run goes
on from there, and the report is made of the ledger alone. Policies are given as NAME:SETTINGS+WRAPPER:SETTINGS (see
simforcing_env.policies). bias is the mean size of a policy's imagined less true score; mmrv the mean of each policy's
worst misranking.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from simforcing_env.commands.checks import at_least, results_file, share, some

if TYPE_CHECKING:
    from simforcing_env.evaluation.comparison.outcome import Key, Outcome
    from simforcing_env.evaluation.comparison.protocol import Protocol
    from simforcing_env.evaluation.comparison.running import Worlds
    from simforcing_env.policies.policy import Policy


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
    pixel_apart: float | None = None
    """Grey levels from which two frames have parted; by default the world's, as the next two."""
    proprio_apart: float | None = None
    """Share of its range from which proprio has parted."""
    state_apart: float | None = None
    """Distance of objects, px in Push-T and cm in LIBERO, from which their states have parted."""
    noise_floor: bool = True
    """Also run the teacher with other seeds."""
    floor_episodes: int = 0
    """Starts of each task for that, the first ones; 0 for all."""
    support: Path | None = None
    """LeRobot v3.0 folder that the checkpoint learned from: report how often policies act outside of its actions."""
    goal_images: Path | None = None
    """LeRobot v3.0 folder, of no test starts: a second judge tells success by its pictures of success."""
    timing: bool = True
    """Report how much faster the learned evaluation was; leave it out where other programs ran beside."""
    clock: Literal["wall", "cpu"] = "wall"
    """Seconds of the clock, or of this process's processor time, which other programs disturb little."""
    truth: Path | None = None
    """Results file of a comparison of another checkpoint: take its true episodes in place of running them. When
    episodes part is then not told."""
    report_only: bool = False
    """Run nothing: report what the ledger holds."""
    json: Path = Path("results/compare.json")
    """Results; ledger, protocol, tables, films and a page go beside it."""
    threads: int = 1
    """CPU threads."""


def run(config: Config) -> None:
    """Run what the ledger lacks, then report."""
    import torch

    from simforcing_env.evaluation.comparison.outcome import read_outcomes
    from simforcing_env.evaluation.comparison.report import write_report
    from simforcing_env.evaluation.comparison.starts import first_starts, task_words
    from simforcing_env.policies.registry import make_policies

    some(policies=config.policies)
    at_least(1, episodes=config.episodes, frames=config.frames, batch=config.batch, threads=config.threads)
    at_least(0, execute=config.execute, seed=config.seed, floor_episodes=config.floor_episodes)
    share(threshold=config.threshold)
    results_file(config.json)
    torch.set_num_threads(config.threads)
    protocol, worlds = _open(config)
    world = worlds.contract.name
    policies = make_policies(config.policies, worlds.contract)
    starts = list(config.starts) or first_starts(world, config.split, config.episodes, config.batch)
    if config.report_only:
        outcomes = read_outcomes(config.json.with_suffix(".ledger.jsonl"), protocol.hash)
    else:
        outcomes = _run(config, worlds, policies, starts)
    worlds.close()
    write_report(config.json, protocol, outcomes, config.seed, config.timing, worlds.device, task_words(world))
    print(f"written: {config.json}, ledger, tables, films and pages beside it")


def _run(config: Config, worlds: Worlds, policies: list[Policy], starts: list[str]) -> dict[Key, Outcome]:
    import time

    from simforcing_env.evaluation.comparison.audit import Witness
    from simforcing_env.evaluation.comparison.films import FilmMaker
    from simforcing_env.evaluation.comparison.judges import GoalImages, Judges, Support
    from simforcing_env.evaluation.comparison.playing import Trace
    from simforcing_env.evaluation.comparison.protocol import SIDES
    from simforcing_env.evaluation.comparison.running import run_comparison
    from simforcing_env.evaluation.comparison.starts import first_of_tasks
    from simforcing_env.evaluation.comparison.truth import borrow_truth
    from simforcing_env.evaluation.progress import counting
    from world_model.data.lerobot.reader import read_dataset

    contract, ledger = worlds.contract, config.json.with_suffix(".ledger.jsonl")
    sides = SIDES if config.noise_floor else SIDES[:2]
    if config.truth is not None:
        wanted = [(policy.hash, start) for policy in policies for start in starts]
        count = borrow_truth(config.truth, worlds.protocol, ledger, wanted)
        print(f"true episodes taken from {config.truth}: {count}")
        sides = ("learned",)
    films = FilmMaker(config.json.with_suffix(".films"), contract.frame_hz)
    witness = Witness(config.json.with_suffix(".audit"))

    def watch(policy: Policy, outcomes: list[Outcome], traces: dict[str, list[Trace]]) -> None:
        films.watch(policy, outcomes, traces)
        witness.watch(policy, outcomes, traces)

    judges = Judges(
        contract,
        None if config.support is None else Support.of(read_dataset(config.support, contract)),
        None if config.goal_images is None else GoalImages.of(read_dataset(config.goal_images, contract)),
    )
    with counting("batches", len(policies) * -(-len(starts) // config.batch)) as step:
        return run_comparison(
            worlds,
            policies,
            starts,
            ledger,
            watch=watch,
            step=step,
            sides=sides,
            again=first_of_tasks(starts, config.floor_episodes) if config.floor_episodes else None,
            judges=judges,
            clock=time.process_time if config.clock == "cpu" else time.perf_counter,
        )


def _open(config: Config) -> tuple[Protocol, Worlds]:
    from simforcing_env.evaluation.comparison.parting import limits_of
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
    same = ("frames", "execute", "batch", "seed", "threshold", "precision")
    limits = {
        f"{name}_apart": standard if options[f"{name}_apart"] is None else options[f"{name}_apart"]
        for name, standard in asdict(limits_of(world.name)).items()
    }
    protocol = Protocol(
        env=world.id,
        teacher=world.teacher_id,
        checkpoint=simulator.hash,
        contract=simulator.contract.hash,
        history=config.history or simulator.history,
        sampler_steps=config.sampler_steps or simulator.sampler.steps,
        **{name: options[name] for name in same},
        **limits,
    )
    return protocol, Worlds(protocol, simulator, device)
