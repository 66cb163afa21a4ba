"""How often the scripted LIBERO experts succeed; nothing is rendered, an interrupted run goes on where it stopped."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

from simforcing_env.commands.checks import at_least, results_file, some
from simforcing_env.evaluation.tables import write_csv
from teachers.libero.experts.knobs import Knobs

if TYPE_CHECKING:
    from teachers.libero.experts.trials import Trial


@dataclass(frozen=True)
class Config:
    """What to measure, and where to write it."""

    json: Path = Path("results/libero-experts.json")
    """Results; a CSV with a line per task and the ledger with a line per episode stand beside it."""
    suites: tuple[str, ...] = ("libero_spatial", "libero_object", "libero_goal", "libero_10", "libero_90")
    """LIBERO suites."""
    tasks: tuple[int, ...] = ()
    """Numbers of the tasks in each suite; by default all."""
    inits: int = 10
    """How many initial states of each task."""
    first: int = 40
    """Number of the first of them; 40 to 49 are the test split, and the experts were made on 0 to 5."""
    together: int = 10
    """Initial states of a task that are run before the next task; with fewer an interrupted run is more even."""
    report_only: bool = False
    """Run nothing: write the results of what the ledger holds already."""
    steps: int = 700
    """Control steps (20 a second) after which an episode has failed."""
    workers: int = 1
    """Processes; their number does not change the result."""
    seed: int = 0
    """Seed of the knobs; without knobs it changes nothing."""
    knobs: Knobs = field(default_factory=Knobs)
    """Knobs that make the experts worse on purpose."""


def run(config: Config) -> None:
    """Run what the ledger lacks, print a line per task, write results and table."""
    from teachers.libero.experts.trials import Job, Trial, append, code_hash, read_trials, run_jobs
    from teachers.libero.suites import INITS, find_task, tasks
    from world_model.errors import InputError

    at_least(1, inits=config.inits, steps=config.steps, workers=config.workers, together=config.together)
    at_least(0, seed=config.seed, first=config.first)
    end = config.first + config.inits
    if end > INITS:
        raise InputError(f"--first and --inits ask for initial state {end - 1}, the last is {INITS - 1}; give less")
    some(suites=config.suites)
    results_file(config.json)
    ledger = config.json.with_suffix(".ledger.jsonl")
    known, code = read_trials(ledger), code_hash()
    wanted = [(suite, task) for suite in config.suites for task in config.tasks or range(len(tasks(suite)))]
    done: list[Trial] = []
    jobs: list[Job] = []
    for start, (suite, task) in product(range(config.first, end, config.together), wanted):
        missing = []
        for init in range(start, min(start + config.together, end)):
            language = find_task(suite, task).language
            knobs = asdict(config.knobs)
            key = Trial(suite, task, language, init, config.seed, False, 0, knobs, code, config.steps).key
            if key in known:
                done.append(known[key])
            else:
                missing.append(init)
        if missing:
            jobs.append(Job(suite, task, tuple(missing), config.seed, config.steps, config.knobs, code))

    def report(trial: Trial) -> None:
        append(ledger, trial)
        done.append(trial)
        outcome = "success" if trial.success else "failure"
        print(
            f"{trial.suite}/{trial.task}/{trial.init} {outcome} after {trial.steps} steps: {trial.language}", flush=True
        )

    try:
        run_jobs([] if config.report_only else jobs, config.workers, report)
    finally:  # an interrupted run reports what it has
        _write(config, done)


def _write(config: Config, trials: list[Trial]) -> None:
    from simforcing_env.evaluation.reporting import plain_provenance
    from teachers.libero.experts.trials import by_task
    from world_model.errors import InputError
    from world_model.results import Metric, write_results

    if not trials:
        raise InputError(
            f"{config.json.with_suffix('.ledger.jsonl')} holds no such episodes; run without --report-only"
        )
    metrics = {}
    for suite in config.suites:
        outcomes = [trial.success for trial in trials if trial.suite == suite]
        if not outcomes:
            continue
        metrics[f"success_{suite}"] = Metric.rate(sum(outcomes), len(outcomes), "share")
        print(f"{suite}: {sum(outcomes)} of {len(outcomes)}")
    write_results(config.json, metrics=metrics, **plain_provenance(sorted({trial.init for trial in trials})))
    rows: list[list[object]] = []
    for (suite, task), group in by_task(trials):
        rate = Metric.rate(sum(trial.success for trial in group), len(group))
        steps = sum(trial.steps for trial in group) / len(group)
        numbers = [f"{x:.3f}" for x in (rate.value, rate.low or 0.0, rate.high or 0.0)]
        rows.append([suite, task, group[0].language, sum(t.success for t in group), rate.n, *numbers, f"{steps:.0f}"])
    heading = ["suite", "task", "language", "successes", "n", "rate", "low", "high", "mean_steps"]
    write_csv(config.json.with_suffix(".csv"), heading, rows)
