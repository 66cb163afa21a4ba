"""Plan with a learned simulator and carry the plans out in the true one: true coverage, IoU and successes.

Every pair of a world and a number of candidates is a cell of the table, and every episode a line of the ledger beside
the results file. A killed run goes on with the same command, processes with a --shard each share the work, and the
report is made of the ledger alone.

An episode of Push-T always lasts ``steps`` actions: success does not end it, and what counts is where the block lies at
the end. Success ends an episode of LIBERO.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from simforcing_env.commands.checks import above, at_least, results_file, some

if TYPE_CHECKING:
    from simforcing_env.planning.arena import Arena
    from simforcing_env.planning.cells import Planners
    from simforcing_env.planning.trials import Trial
    from simforcing_env.policies.diffusion import DiffusionPolicy
    from world_model.results import Metric


@dataclass(frozen=True)
class Look:
    """How far candidates are imagined, and how their ends are weighed."""

    length: int = 16
    """Actions of a candidate that are imagined."""
    continuations: int | None = None
    """Chunks of the policy that follow in imagination; by default 1 in Push-T, to an episode's end in LIBERO."""
    samples: int = 1
    """Futures of each candidate, which differ by what the policy does afterwards; their mean counts."""
    penalty: float = 0.5
    """How much of a future's doubt is taken off its value."""
    share_noise: bool = True
    """Common random numbers: the futures of a plan differ by their actions alone."""


@dataclass(frozen=True)
class Config:
    """Options of ``simforcing plan``."""

    policy: Path
    """Folder of a diffusion policy, as ``simforcing policy train`` leaves it."""
    env: Literal["SimForcing/PushT-v0", "SimForcing/LiberoGoal-v0", "SimForcing/LiberoObject-v0"] = (
        "SimForcing/PushT-v0"
    )
    """Learned environment; plans are carried out in its teacher."""
    worlds: tuple[str, ...] = ()
    """Where plans are made: P=CHECKPOINT with the number P of policy rollouts that it was trained on further
    (``simforcing posttrain``), or ``true``, the true simulator, as the ceiling. By default 0=the shipped one."""
    k: tuple[int, ...] = (1, 5, 10, 50)
    """Numbers of candidates; 1 is the policy without a plan."""
    budget_ms: tuple[float, ...] = ()
    """Cells with as many candidates as so many milliseconds allow, beside those of ``k``; use --together 1."""
    planner: Literal["rank", "cem", "icem", "mppi", "gradient"] = "rank"
    """How candidates are found."""
    value: Literal["points", "coverage", "iou", "success", "goal_image"] | None = None
    """What makes a future good: key points near the goal, what the heads say, or likeness to a picture of the goal; by
    default points in Push-T, success in LIBERO."""
    pictures: bool = False
    """Draw all imagined frames, as heads of frames and pictures of a goal need it; otherwise the state is foreseen."""
    look: Look = field(default_factory=Look)
    execute: int = 8
    """Actions that are carried out before the next plan."""
    execute_alone: int | None = None
    """Actions after which the policy is asked again where it acts without a plan; by default as many."""
    policy_steps: int | None = None
    """Steps of the policy's sampler; by default its own."""
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    """Of policy and imagination; auto is bfloat16 where the processor computes in it."""
    split: Literal["validation", "test"] = "validation"
    """Starts; tune on validation only."""
    episodes: int | None = None
    """Starts of each cell, from the first of the split on; of LIBERO, of each task. By default 100 and 10."""
    oracle_k: tuple[int, ...] | None = None
    """Numbers of candidates for plans in the true simulator; by default those of ``k``."""
    oracle_episodes: int | None = None
    """The first so many of these starts for plans in the true simulator, which take long; by default all."""
    tasks: tuple[int, ...] = ()
    """Tasks of LIBERO to plan for; by default all."""
    steps: int | None = None
    """Actions of an episode, at most; by default 300 in Push-T, 176 in LIBERO."""
    together: int = 10
    """Episodes that are planned for side by side; it changes speed, not outcomes."""
    seed: int = 0
    """Of the policy's and the planner's noise."""
    json: Path | None = None
    """Results file; the ledger and a table as CSV go beside it."""
    shard: tuple[int, int] = (0, 1)
    """I N: run only every N-th batch of starts from the I-th on, so that N processes share the work."""
    report_only: bool = False
    """Run nothing: report what the ledger holds already."""
    time: int = 0
    """Plans to time for each number of candidates and budget, for one episode at a time; on an idle machine only."""
    film: Path | None = None
    """Film (mp4) of the first start: the futures of every plan fanned out, and the one that was chosen. Push-T only."""
    threads: int = 1
    """CPU threads."""


def run(config: Config) -> None:
    """Run what the ledger lacks, print a line per episode, write results, table and film."""
    import torch

    from simforcing_env.planning.arena import Arena
    from simforcing_env.planning.cells import TRUE, cell_name
    from simforcing_env.planning.trials import Trial, known_trials, paired, run_trials, table
    from simforcing_env.policies.diffusion import load_diffusion
    from world_model.errors import InputError
    from world_model.ledger import append_records
    from world_model.runtime import Runtime

    at_least(1, episodes=config.episodes, steps=config.steps, together=config.together, threads=config.threads)
    at_least(1, oracle_k=config.oracle_k, oracle_episodes=config.oracle_episodes)
    at_least(1, k=config.k, execute=config.execute, execute_alone=config.execute_alone)
    at_least(1, policy_steps=config.policy_steps)
    at_least(0, seed=config.seed, time=config.time, look__continuations=config.look.continuations)
    above(0, look__length=config.look.length, budget_ms=config.budget_ms)
    some(k=config.k)
    results_file(config.json)
    results_file(config.film, "--film")
    part, parts = config.shard
    if not 0 <= part < parts:
        raise InputError(f"--shard is {part} {parts} but must name one of some parts, 0 to {parts - 1}; correct it")
    torch.set_num_threads(config.threads)
    arena, runtime = Arena.of(config.env), Runtime.choose("cpu", config.precision)
    policy = load_diffusion(config.policy, steps=config.policy_steps, runtime=runtime)
    if policy.contract.name != arena.world.name:
        raise InputError(f"the policy is of {policy.contract.name!r} but --env is {config.env}; choose its own")
    worlds = config.worlds or (f"0={arena.world.checkpoint}",)
    some(worlds=worlds)
    planners = _planners(config, arena, policy, runtime)
    steps = config.steps or arena.habits.steps
    count = config.episodes or (10 if arena.habits.ends else 100)
    together = min(config.together, count)
    names = arena.starts(config.split, count, together, config.tasks)
    ledger = None if config.json is None else config.json.with_suffix(".ledger.jsonl")
    found = known_trials(ledger) if ledger else {}
    alone = config.execute_alone or config.execute
    envs = {chunk: arena.env(policy.contract, together, chunk) for chunk in {config.execute, alone}}
    keys: dict[str, list[str]] = {}
    for world in worlds:
        counts = config.k if world != TRUE or config.oracle_k is None else config.oracle_k
        for much in (*counts, *config.budget_ms):
            env = envs[alone if much == 1 and isinstance(much, int) else config.execute]
            name, planning = cell_name(world, much), planners.make(world, much, env)

            def report(trial: Trial, name: str = name) -> None:
                found[trial.key] = trial
                if ledger is not None:
                    append_records(ledger, [asdict(trial)])
                ends = ", ".join(f"{label} {of['final']:.3f}" for label, of in trial.labels.items())
                print(f"{name} {trial.start}: {ends}", flush=True)

            def key(start: str, hash: str = planning.hash) -> str:
                return Trial(start, config.seed, hash, policy.contract.hash, steps).key

            some_names = names[: config.oracle_episodes] if world == TRUE else names
            keys[name] = [key(start) for start in some_names]
            own = [start for at, start in enumerate(some_names) if at // together % parts == part]
            mine = [start for start in own if key(start) not in found]
            if mine and not config.report_only:
                run_trials(env, planning, mine, config.seed, steps, report, task=arena.task())
    for env in envs.values():
        env.close()
    found |= known_trials(ledger) if ledger else {}
    cells = {name: done for name, own in keys.items() if (done := [found[key] for key in own if key in found])}
    metrics = table(cells, config.seed) | _times(config, arena, planners, worlds[0], names[:1])
    if arena.habits.ends:
        metrics |= paired(cells)
    _write(config, cells, metrics, policy)
    if config.film is not None:
        _film(config, arena, planners, next((world for world in worlds if world != TRUE), TRUE), names[:1])


def _planners(config: Config, arena: Arena, policy: DiffusionPolicy, runtime: Any) -> Planners:
    from simforcing_env.planning.cells import Planners
    from simforcing_env.planning.planning_policy import PlanningConfig
    from simforcing_env.planning.scoring import ScoreConfig
    from simforcing_env.planning.search import SearchConfig

    look, habits = config.look, arena.habits
    far = habits.continuations if look.continuations is None else look.continuations
    score = ScoreConfig(look.length, far, look.samples, look.penalty, habits.last, share_noise=look.share_noise)
    plan = PlanningConfig(config.planner, config.execute, None, score, SearchConfig(stay=not habits.ends))
    value = config.value or habits.value
    return Planners(policy, plan, value, config.pictures, runtime, habits.state, config.execute_alone)


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
        precision=policy.runtime.precision,
        checkpoint=policy.hash,
        sampler_steps=policy.sample_steps,
    )
    report(config.json, metrics, told, ["cell", "n", *labels], rows)


def _times(config: Config, arena: Arena, planners: Planners, world: str, start: list[str]) -> dict[str, Metric]:
    """Seconds of a plan for one episode, ``plan_s_k50`` and so on; the first one, which warms up, is left out.

    Of budgets also how much longer than allowed the longest plan took, as a share: ``plan_over_ms200``.
    """
    import numpy as np

    from simforcing_env.planning.cells import cell_name
    from world_model.results import Metric

    metrics: dict[str, Metric] = {}
    if not config.time:
        return metrics
    env = arena.env(planners.policy.contract, 1, config.execute)
    observation, _ = env.reset(seed=0, options={"start": start})
    for much in (*(k for k in config.k if k > 1), *config.budget_ms):
        planning: Any = planners.make(world, much, env)
        planning.reset([0], [arena.task()(start[0])])
        for _ in range(config.time + 1):
            planning.act(observation)
        name = cell_name("0=-", much).partition("_")[0]
        metrics[f"plan_s_{name}"] = Metric.mean(planning.seconds[1:], np.random.default_rng(0), "s")
        if isinstance(much, float):
            over = max(0.0, max(planning.seconds[1:]) / (much / 1000) - 1)
            metrics[f"plan_over_{name}"] = Metric(over, n=config.time, unit="share")
    env.close()
    return metrics


def _ends(trials: list[Trial], label: str) -> list[float]:
    return [trial.labels[label]["final"] for trial in trials]


def _film(config: Config, arena: Arena, planners: Planners, world: str, start: list[str]) -> None:
    from simforcing_env.pictures import write_mp4
    from simforcing_env.planning.film import PlanFilm
    from simforcing_env.planning.trials import run_trials
    from world_model.errors import InputError

    assert config.film is not None
    contract = planners.policy.contract
    if arena.habits.ends:
        raise InputError(f"--film shows key points of Push-T but --env is {config.env}; leave it out")
    film = PlanFilm(contract)
    env = arena.env(contract, 1, config.execute, every_frame=True)
    planning = planners.make(world, max(config.k), env, film.watch)
    steps = config.steps or arena.habits.steps
    run_trials(env, planning, start, config.seed, steps, lambda trial: None, film.see)
    write_mp4(config.film, film.frames, contract.frame_hz)
    print(f"film: {config.film}")
