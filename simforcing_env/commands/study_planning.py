"""IRASim's planning table on Push-T: K imagined futures by P rollouts of the policy that the model was trained on.

Four stages, each of which goes on where it was killed: ``base`` takes that checkpoint of a policy's training whose IoU
without plans, over validation starts, lies nearest to the middle of --base-iou; ``rollouts`` records what it does;
``posttrain`` trains the world model on with the first P of these, and with as many episodes of each --dataset;
``table`` plans with each of these worlds and K, from the same starts, and in the true simulator as the ceiling (see
``simforcing plan``), and leaves a Markdown table with the published numbers too. Processes may share the work: by
--rollouts in ``posttrain``, by --shard in ``table``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from simforcing_env.commands import plan, posttrain
from simforcing_env.commands.checks import above, at_least, results_file, some

if TYPE_CHECKING:
    from world_model.results import Metric

Stage = Literal["base", "rollouts", "posttrain", "table"]
FORESEER_ALONE = ("train.batch=0", "train.sequences=96", "train.optim.final_rate=0.02")
BASE = "base.json"
PUBLISHED: Mapping[int, Mapping[int, float]] = MappingProxyType(
    {
        0: {1: 0.637, 5: 0.679, 10: 0.572, 50: 0.418},
        100: {1: 0.637, 5: 0.847, 10: 0.878, 50: 0.888},
        200: {1: 0.637, 5: 0.866, 10: 0.916, 50: 0.912},
        500: {1: 0.637, 5: 0.907, 10: 0.906, 50: 0.938},
        1000: {1: 0.637, 5: 0.886, 10: 0.945, 50: 0.961},
    }
)
"""IRASim's IoU by P and K (arXiv 2406.14540, 100 trials), whose first model saw demonstrations alone."""


@dataclass(frozen=True)
class Config:
    """Options of ``simforcing study planning``."""

    policies: Path
    """Folder of a run of ``simforcing policy train``."""
    out: Path
    """Folder of the study."""
    stages: tuple[Stage, ...] = ("base", "rollouts", "posttrain", "table")
    """Which of them."""
    base_iou: tuple[float, float] = (0.60, 0.66)
    """What the base policy is to reach without plans."""
    base_episodes: int = 100
    """Validation starts on which that is measured."""
    execute: int = 8
    """Actions of a plan that are carried out before the next one."""
    execute_alone: int | None = None
    """Actions after which the policy is asked again where it acts without a plan; by default as many."""
    checkpoint: str = "pusht-nano"
    """World model that the study begins with, P = 0."""
    rollouts: tuple[int, ...] = (0, 100, 200, 500, 1000)
    """P. The largest of them is recorded; give all of them when it is."""
    transitions: int = 200
    """Actions of each rollout."""
    noise: float = 4.0
    """Largest drift of a rollout's actions, px."""
    dataset: Annotated[tuple[Path, ...], tyro.conf.UseAppendAction] = ()
    """Data set of the world model's first training, repeatable; of each the first P episodes are trained on again."""
    cpu_minutes: float = 5.0
    """Processor time of each post-training."""
    learning_rate: float = 3e-4
    """Highest one of post-training."""
    set: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = FORESEER_ALONE
    """Override of the checkpoint's recipe in post-training, repeatable; by default the foreseer alone is trained."""
    k: tuple[int, ...] = (1, 5, 10, 50)
    """Numbers of candidates."""
    oracle_k: tuple[int, ...] = (50,)
    """Those that are planned with in the true simulator too."""
    oracle_episodes: int = 20
    """Starts of that; a plan there takes some twenty times as long."""
    look: plan.Look = field(default_factory=plan.Look)
    """See ``simforcing plan``."""
    split: Literal["validation", "test"] = "test"
    """Starts of the table."""
    episodes: int = 100
    """Starts of each cell of the table."""
    steps: int = 300
    """Actions of an episode."""
    together: int = 10
    """Episodes side by side."""
    shard: tuple[int, int] = (0, 1)
    """I N: this process runs the I-th of N parts of the starts of the table."""
    report_only: bool = False
    """Run nothing in the table: report what its ledger holds."""
    time: int = 0
    """Plans to time for each number of candidates, on an idle machine."""
    json: Path | None = None
    """Results file; the ledger goes beside it."""
    seed: int = 0
    """Of rollouts, training and plans."""
    workers: int = 1
    """Recording processes."""
    threads: int = 1
    """CPU threads."""


def run(config: Config) -> None:
    """Run the stages that are asked for."""
    at_least(0, rollouts=config.rollouts, seed=config.seed, noise=config.noise)
    at_least(1, base_episodes=config.base_episodes, transitions=config.transitions, episodes=config.episodes)
    at_least(1, execute=config.execute, execute_alone=config.execute_alone)
    above(0, cpu_minutes=config.cpu_minutes, learning_rate=config.learning_rate)
    some(rollouts=config.rollouts, stages=config.stages, k=config.k)
    results_file(config.json)
    for stage in config.stages:
        STAGES[stage](config)


def _choose_base(config: Config) -> None:
    """Measure every checkpoint of the run, and write down the one to go on with."""
    import json

    from world_model.atomic import replace_text
    from world_model.errors import DataError
    from world_model.results import read_results

    folders = sorted(path.parent for path in config.policies.glob("checkpoint*/model.safetensors"))
    if not folders:
        raise DataError(f"{config.policies} holds no policies; train them by simforcing policy train")
    found: dict[str, float] = {}
    for folder in folders:
        out = config.out / "base" / f"{folder.name}.json"
        plan.run(
            plan.Config(
                folder,
                k=(1,),
                episodes=config.base_episodes,
                json=out,
                **_episode_settings(config),
            )
        )
        found[folder.name] = read_results(out)["metrics"]["iou_k1_p0"].value
    wanted = sum(config.base_iou) / 2
    chosen = min(found, key=lambda name: abs(found[name] - wanted))
    told = {"policy": str(config.policies / chosen), "iou": found}
    replace_text(config.out / BASE, json.dumps(told, indent=2))
    low, high = config.base_iou
    apart = "" if low <= found[chosen] <= high else f"; wanted were {low:g} to {high:g}"
    print(f"base policy: {chosen}, IoU {found[chosen]:.3f} on validation starts{apart}")


def _record(config: Config) -> None:
    """As many rollouts as the largest P asks for, and some from validation starts."""
    from simforcing_env.commands.policy_record import record

    most = max(config.rollouts)
    options = {
        "policy": f"diffusion:{_base(config)}",
        "transitions": config.transitions,
        "execute": config.execute_alone or config.execute,
        "noise": config.noise,
    }
    if most:
        record(options, "train", config.out / "rollouts", most, config.seed, config.workers)
        record(options, "validation", config.out / "held-out", max(4, most // 50), config.seed, config.workers)


def _train_on(config: Config) -> None:
    """A checkpoint for each P that has none yet."""
    for rollouts in config.rollouts:
        out = config.out / f"p{rollouts}"
        if not rollouts or (out / "checkpoint").exists():
            continue
        posttrain.run(
            posttrain.Config(
                policy=f"diffusion:{_base(config)}",
                out=out,
                checkpoint=config.checkpoint,
                rollouts=rollouts,
                recorded=config.out,
                dataset=config.dataset,
                cpu_minutes=config.cpu_minutes,
                learning_rate=config.learning_rate,
                set=config.set,
                seed=config.seed,
                threads=config.threads,
            )
        )


def _plan(config: Config) -> None:
    """All cells, into one ledger."""
    trained = {p: str(config.out / f"p{p}" / "checkpoint") for p in config.rollouts if p}
    learned = tuple(f"{p}={trained.get(p, config.checkpoint)}" for p in config.rollouts)
    plan.run(
        plan.Config(
            policy=_base(config),
            worlds=(*learned, *(("true",) if config.oracle_k else ())),
            k=config.k,
            oracle_k=config.oracle_k,
            oracle_episodes=config.oracle_episodes,
            look=config.look,
            split=config.split,
            episodes=config.episodes,
            json=config.json,
            shard=config.shard,
            report_only=config.report_only,
            time=config.time,
            **_episode_settings(config),
        )
    )
    if config.json is not None:
        from world_model.atomic import replace_text
        from world_model.results import read_results

        text = beside_published(read_results(config.json)["metrics"], config.rollouts, config.k)
        replace_text(config.json.with_suffix(".md"), text)
        print(text, end="")


def _episode_settings(config: Config) -> dict[str, Any]:
    """What all planned episodes of the study have in common."""
    names = ("execute", "execute_alone", "steps", "together", "seed", "threads")
    return {name: getattr(config, name) for name in names}


def beside_published(metrics: Mapping[str, Metric], rollouts: tuple[int, ...], counts: tuple[int, ...]) -> str:
    """IoU at the end with its interval by P and K, and the published one after a slash, as a Markdown table."""

    def cell(p: int, k: int) -> str:
        found, published = metrics.get(f"iou_k{k}_p{p}"), PUBLISHED.get(p, {}).get(k)
        if found is None:
            return ""
        interval = "" if found.low is None else f" ({found.low:.3f} to {found.high:.3f})"
        return f"{found.value:.3f}{interval}" + ("" if published is None else f" / {published:.3f}")

    lines = [
        f"| IoU, ours / published | {' | '.join(f'K = {k}' for k in counts)} |",
        "| --- |" + " ---: |" * len(counts),
    ]
    lines += [f"| P = {p} | {' | '.join(cell(p, k) for k in counts)} |" for p in rollouts]
    return "\n".join(lines) + "\n"


def _base(config: Config) -> Path:
    """Folder of the policy that was chosen."""
    from world_model.checkpoint import read_json
    from world_model.errors import DataError

    path = config.out / BASE
    if not path.is_file():
        raise DataError(f"{path} is missing, so no base policy was chosen; run the stage base first")
    return Path(read_json(path)["policy"])


STAGES = {"base": _choose_base, "rollouts": _record, "posttrain": _train_on, "table": _plan}
