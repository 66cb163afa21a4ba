"""Plan with a learned simulator and carry the plans out in the true one: true coverage, IoU and both successes.

Every pair of a world and a number of candidates is a cell of the table, and every episode a line of the ledger beside
the results file. A killed run goes on with the same command; the report is made of the ledger alone.

An episode always lasts ``steps`` actions: success does not end it, and what counts is where the block lies at the end.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from simforcing_env.commands.checks import above, at_least, results_file, some

if TYPE_CHECKING:
    from simforcing_env.chunk_env import ChunkVectorEnv
    from simforcing_env.planning.trials import Trial
    from simforcing_env.policies.diffusion import DiffusionPolicy
    from simforcing_env.policies.policy import Policy
    from world_model.results import Metric

TRUE = "true"


@dataclass(frozen=True)
class Look:
    """How far candidates are imagined, and how their ends are weighed."""

    length: int = 16
    """Actions of a candidate that are imagined."""
    continuations: int = 1
    """Chunks of the policy that follow in imagination."""
    penalty: float = 0.5
    """How much of a future's doubt is taken off its value."""
    share_noise: bool = True
    """Common random numbers: the futures of a plan differ by their actions alone."""


@dataclass(frozen=True)
class Config:
    """Options of ``simforcing plan``."""

    policy: Path
    """Folder of a diffusion policy, as ``simforcing policy train`` leaves it."""
    env: Literal["SimForcing/PushT-v0"] = "SimForcing/PushT-v0"
    """Learned environment; plans are carried out in its teacher."""
    worlds: tuple[str, ...] = ("0=pusht-nano",)
    """Where plans are made: P=CHECKPOINT with the number P of policy rollouts that it was trained on further
    (``simforcing posttrain``), or ``true``, the true simulator, as the ceiling."""
    k: tuple[int, ...] = (1, 5, 10, 50)
    """Numbers of candidates; 1 is the policy without a plan."""
    budget_ms: tuple[float, ...] = ()
    """Cells with as many candidates as so many milliseconds allow, beside those of ``k``; use --together 1."""
    planner: Literal["rank", "cem", "icem", "mppi", "gradient"] = "rank"
    """How candidates are found."""
    value: Literal["points", "coverage", "iou", "success", "goal_image"] = "points"
    """What makes a future good: key points near the goal, what the heads say, or likeness to a picture of the goal."""
    pictures: bool = False
    """Draw all imagined frames, as heads of frames and pictures of a goal need it; otherwise the state is foreseen."""
    look: Look = field(default_factory=Look)
    execute: int = 8
    """Actions that are carried out before the next plan."""
    policy_steps: int | None = None
    """Steps of the policy's sampler; by default its own."""
    split: Literal["validation", "test"] = "validation"
    """Starts; tune on validation only."""
    episodes: int = 100
    """Starts of each cell, from the first of the split on."""
    steps: int = 300
    """Actions of an episode."""
    together: int = 10
    """Episodes that are planned for side by side; it changes speed, not outcomes."""
    seed: int = 0
    """Of the policy's and the planner's noise."""
    json: Path | None = None
    """Results file; the ledger and a table as CSV go beside it."""
    report_only: bool = False
    """Run nothing: report what the ledger holds already."""
    time: int = 0
    """Plans to time for each number of candidates, for one episode at a time; on an idle machine only."""
    film: Path | None = None
    """Film (mp4) of the first start: the futures of every plan fanned out, and the one that was chosen."""
    threads: int = 1
    """CPU threads."""


def run(config: Config) -> None:
    """Run what the ledger lacks, print a line per cell, write results, table and film."""
    import torch

    from simforcing_env.planning.trials import known_trials, run_trials, table
    from simforcing_env.policies.diffusion import load_diffusion
    from world_model.ledger import append_records

    at_least(1, episodes=config.episodes, steps=config.steps, together=config.together, threads=config.threads)
    at_least(1, k=config.k, execute=config.execute, policy_steps=config.policy_steps)
    at_least(0, seed=config.seed, time=config.time)
    above(0, look__length=config.look.length, budget_ms=config.budget_ms)
    some(k=config.k, worlds=config.worlds)
    results_file(config.json)
    results_file(config.film, "--film")
    torch.set_num_threads(config.threads)
    policy = load_diffusion(config.policy, steps=config.policy_steps)
    ledger = None if config.json is None else config.json.with_suffix(".ledger.jsonl")
    known = known_trials(ledger) if ledger else {}
    names = _starts(config)
    cells: dict[str, list[Trial]] = {}
    for world in config.worlds:
        for count in (*config.k, *config.budget_ms):
            name = _cell(world, count)
            env = _env(config, min(config.together, config.episodes), policy)
            planning = _planning(config, policy, world, count, env)
            keys = {start: _key(config, start, planning, policy) for start in names}
            done = [known[key] for key in keys.values() if key in known]

            def report(trial: Trial, done: list[Trial] = done, name: str = name) -> None:
                done.append(trial)
                if ledger is not None:
                    append_records(ledger, [asdict(trial)])
                ends = ", ".join(f"{label} {of['final']:.3f}" for label, of in trial.labels.items())
                print(f"{name} {trial.start}: {ends}", flush=True)

            missing = [start for start, key in keys.items() if key not in known]
            if missing and not config.report_only:
                run_trials(env, planning, missing, config.seed, config.steps, report)
            env.close()
            if done:
                cells[name] = done
    metrics = table(cells, config.seed) | _times(config, policy)
    _write(config, cells, metrics, policy)
    if config.film is not None:
        _film(config, policy)


def _starts(config: Config) -> list[str]:
    first = {"validation": 800_000, "test": 900_000}[config.split]
    return [f"seed-{first + number}" for number in range(config.episodes)]


def _cell(world: str, count: int | float) -> str:
    """Name of a cell: ``k50_p100``, ``oracle_k50``, or ``ms200_p100`` of a budget."""
    from world_model.errors import InputError

    much = f"k{count}" if isinstance(count, int) else f"ms{count:g}"
    if world == TRUE:
        return f"oracle_{much}"
    rollouts, equals, checkpoint = world.partition("=")
    if not equals or not rollouts.isdecimal() or not checkpoint:
        raise InputError(f"world {world!r} is neither 'true' nor P=CHECKPOINT; write, for example, 0=pusht-nano")
    return f"{much}_p{rollouts}"


def _env(config: Config, count: int, policy: DiffusionPolicy, every_frame: bool = False) -> ChunkVectorEnv:
    from simforcing_env.teacher_env import TeacherVectorEnv

    return TeacherVectorEnv(
        count, teacher="pusht", chunk=config.execute, frames_in_info=every_frame, success_threshold=1.0
    )


def _planning(
    config: Config, policy: DiffusionPolicy, world: str, count: int | float, env: ChunkVectorEnv, watch: Any = None
) -> Policy:
    """The policy of a cell: with ``count`` candidates, or milliseconds where that is a float."""
    from simforcing_env.evaluation.loading import open_simulator
    from simforcing_env.planning.model_world import imagination
    from simforcing_env.planning.planning_policy import PlanningConfig, PlanningPolicy
    from simforcing_env.planning.proposals import Shortened
    from simforcing_env.planning.scoring import ScoreConfig
    from simforcing_env.planning.search import SearchConfig
    from simforcing_env.planning.values import make_value
    from simforcing_env.planning.world import EnvWorld, Imagination

    if count == 1:
        return Shortened(policy, config.execute)
    look = config.look
    score = ScoreConfig(look.length, look.continuations, look.penalty, share_noise=look.share_noise)
    budget = count if isinstance(count, float) else None
    search = SearchConfig() if budget is not None else SearchConfig(count=int(count))
    plan = PlanningConfig(config.planner, config.execute, budget, score, search)
    imagine: Imagination = lambda moment: EnvWorld(env)  # noqa: E731
    source = TRUE
    if world != TRUE:
        simulator = open_simulator(world.partition("=")[2])
        simulator.contract.require_same(policy.contract, "the checkpoint", "the policy")
        imagine, source = imagination(simulator, config.pictures), f"{simulator.hash} {config.pictures}"
    value = make_value(config.value)
    return PlanningPolicy(policy, imagine, value, plan, source=f"{source} {config.value}", watch=watch)


def _key(config: Config, start: str, planning: Policy, policy: DiffusionPolicy) -> str:
    from simforcing_env.planning.trials import Trial

    return Trial(start, config.seed, planning.hash, policy.contract.hash, config.steps).key


def _write(config: Config, cells: dict[str, list[Trial]], metrics: dict[str, Metric], policy: DiffusionPolicy) -> None:
    from simforcing_env.evaluation.reporting import plain_provenance, report
    from world_model.errors import InputError

    if not metrics:
        raise InputError("the ledger holds no such episodes; run without --report-only")
    rows: list[list[object]] = []
    for name, trials in cells.items():
        means = [sum(values) / len(values) for label in trials[0].labels if (values := _ends(trials, label))]
        rows.append([name, len(trials), *(f"{mean:.4f}" for mean in means)])
    labels = next(iter(cells.values()))[0].labels if cells else ()
    told = plain_provenance(
        [config.seed, config.split],
        policy.contract.hash,
        checkpoint=policy.hash,
        sampler_steps=policy.steps or policy.net.config.sample_steps,
    )
    report(config.json, metrics, told, ["cell", "n", *labels], rows)


def _times(config: Config, policy: DiffusionPolicy) -> dict[str, Metric]:
    """Seconds of a plan for one episode, ``plan_s_k50`` and so on; the first one, which warms up, is left out."""
    import numpy as np

    from world_model.results import Metric

    metrics: dict[str, Metric] = {}
    env = _env(config, 1, policy)
    observation, _ = env.reset(seed=0, options={"start": _starts(config)[:1]})
    for count in [k for k in config.k if k > 1] if config.time else []:
        planning: Any = _planning(config, policy, config.worlds[0], count, env)
        planning.reset([0])
        for _ in range(config.time + 1):
            planning.act(observation)
        metrics[f"plan_s_k{count}"] = Metric.mean(planning.seconds[1:], np.random.default_rng(0), "s")
    env.close()
    return metrics


def _ends(trials: list[Trial], label: str) -> list[float]:
    return [trial.labels[label]["final"] for trial in trials]


def _film(config: Config, policy: DiffusionPolicy) -> None:
    from simforcing_env.pictures import write_mp4
    from simforcing_env.planning.film import PlanFilm
    from simforcing_env.planning.trials import run_trials

    assert config.film is not None
    film = PlanFilm(policy.contract)
    env = _env(config, 1, policy, every_frame=True)
    world = next((world for world in config.worlds if world != TRUE), TRUE)
    planning = _planning(config, policy, world, max(config.k), env, film.watch)
    run_trials(env, planning, _starts(config)[:1], config.seed, config.steps, lambda trial: None, film.see)
    write_mp4(config.film, film.frames, policy.contract.frame_hz)
    print(f"film: {config.film}")
