"""Make a checkpoint ready to ship: starts, the sampler, and a model card with the training curve.

Heads that it has are kept. The starts are stored as frames, so that the shipped environment needs no simulator.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simforcing_env.commands.checks import at_least, some
from world_model.errors import DataError, InputError

if TYPE_CHECKING:
    from torch import nn

    from world_model.contract import Contract
    from world_model.pretrained import LearnedSimulator, Starts

_STARTS = (
    *(f"seed-{k}" for k in range(48)),
    *(f"near-{k}" for k in range(24)),
    *(f"seed-{800_000 + k}" for k in range(16)),
    *(f"near-{800_000 + k}" for k in range(16)),
)


@dataclass(frozen=True)
class Config:
    """Options of ``simforcing pack``."""

    checkpoint: Path
    """Folder of the trained checkpoint."""
    out: Path
    """Folder to write; its name becomes the checkpoint's."""
    heads: Path | None = None
    """Checkpoint whose heads to take instead; its codec must be the same, for heads read latents."""
    run_folder: Path | None = None
    """Folder of the training run, whose log gives the curve of the model card."""
    commands: tuple[str, ...] = ()
    """Shell lines that made the checkpoint, for the model card."""
    notes: str = ""
    """Further text for the model card."""
    starts: tuple[str, ...] = _STARTS
    """Names of the starts to ship, drawn by the checkpoint's teacher; those of Push-T by default."""
    starts_of: tuple[Path, ...] = ()
    """Data sets whose episodes' first frames to ship instead, each start once."""
    starts_each: int = 10
    """Starts of each task to take from every such data set."""
    sampler_steps: int | None = None
    """Sampler steps to ship; by default the checkpoint's."""


def run(config: Config) -> None:
    """Draw the starts, write the card, save."""
    import dataclasses

    from simforcing_env.evaluation.loading import open_simulator
    from world_model.checkpoint import check_place
    from world_model.pretrained import Starts

    some(starts=config.starts)
    at_least(1, sampler_steps=config.sampler_steps, starts_each=config.starts_each)
    check_place(config.out)
    simulator = open_simulator(str(config.checkpoint))
    curve = [] if config.run_folder is None else curve_of(config.run_folder, simulator)
    if config.heads is not None:
        simulator.heads = heads_of(config.heads, simulator)
    taken = [recorded_starts(folder, simulator.contract, config.starts_each) for folder in config.starts_of]
    simulator.starts = Starts.join(taken) if taken else drawn_starts(config.starts, simulator.contract)
    if hasattr(simulator.model, "condition_on"):
        simulator.sim_starts = drawn_starts(simulator.starts.names, simulator.contract, sim=True)
    if config.sampler_steps is not None:
        simulator.sampler = simulator.sampler.with_steps(config.sampler_steps)
    simulator.card = card(config, simulator.recipe, dataclasses.asdict(simulator.sampler.config), curve)
    simulator.save_pretrained(config.out)
    size = sum(f.stat().st_size for f in config.out.rglob("*") if f.is_file()) / 1e6
    print(f"{config.out}: {size:.1f} MB, {len(simulator.starts)} starts")


def drawn_starts(names: tuple[str, ...], contract: Contract, sim: bool = False) -> Starts:
    """Starts as the contract's teacher draws them, or that of its world's `sim` side."""
    import numpy as np

    from teachers.appearance.worlds import make_sim
    from teachers.registry import make_teacher
    from world_model.canvas import join
    from world_model.pretrained import Starts

    teacher = (make_sim if sim else make_teacher)(contract.name, contract)
    seen = [teacher.reset(name) for name in names]
    return Starts(names, np.stack([join(contract, o.frames) for o in seen]), np.stack([o.proprio for o in seen]))


def recorded_starts(folder: Path, contract: Contract, each: int) -> Starts:
    """First frames of a data set's episodes, each start once and ``each`` of a task."""
    import numpy as np

    from world_model.data.lerobot.reader import read_dataset
    from world_model.pretrained import Starts, task_of

    data, counts, kept = read_dataset(folder, contract), Counter[int](), {}
    for index, name in enumerate(data.starts):
        if name not in kept and counts[task_of(name)] < each:
            counts[task_of(name)] += 1
            kept[name] = data[index]
    firsts = [(e.frames[0], e.proprio[0]) for e in kept.values()]
    frames, proprio = (np.stack(part) for part in zip(*firsts, strict=True))
    return Starts(tuple(kept), frames, proprio)


def heads_of(folder: Path, simulator: LearnedSimulator) -> Any:
    """The heads of another checkpoint.

    Raises:
        InputError: it has none, or another codec.
    """
    from simforcing_env.evaluation.loading import open_simulator

    other = open_simulator(str(folder))
    if other.heads is None:
        raise InputError(f"checkpoint {folder} has no heads; train them with simforcing train heads")
    if not same_weights(simulator.codec, other.codec):
        raise InputError(f"the heads of {folder} read another codec's latents; train heads on this checkpoint")
    return other.heads


def same_weights(one: nn.Module, two: nn.Module) -> bool:
    """Whether two modules hold the same tensors under the same names."""
    mine, theirs = one.state_dict(), two.state_dict()
    return mine.keys() == theirs.keys() and all(value.equal(theirs[name]) for name, value in mine.items())


def card(config: Config, recipe: dict[str, object], sampler: dict[str, object], curve: list[str]) -> str:
    """The model card's markdown; ``curve`` is `curve_of`'s."""
    lines = [
        "---\nlibrary_name: simforcing-env\nlicense: apache-2.0\ntags: [robotics, world-model]\n---",
        f"# {config.out.name}\n",
        config.notes.strip() + "\n" if config.notes else "",
        "Made by\n\n```sh\n" + "\n".join(config.commands) + "\n```\n" if config.commands else "",
        "| recipe | |\n| --- | --- |",
        *(f"| {name} | {value} |" for name, value in {**recipe, "sampler": sampler}.items()),
    ]
    if curve:
        lines += ["\n## Validation while training\n", *curve]
    return "\n".join(lines) + "\n"


def curve_of(run: Path, simulator: LearnedSimulator, rows: int = 14) -> list[str]:
    """A markdown table of at most about ``rows`` validations of the training run that made ``simulator``.

    Raises:
        DataError: the folder holds no log with validations, or no checkpoint.
        InputError: its checkpoint has other weights.
    """
    import json

    from simforcing_env.evaluation.loading import open_simulator

    log = run / "log.jsonl"
    if not log.is_file():
        raise DataError(f"{run} is no training run, for it holds no {log.name}; check --run-folder or leave it out")
    if not same_weights(simulator.model, open_simulator(str(run / "checkpoint")).model):
        raise InputError(
            f"{run} is the run of another checkpoint (its own has other weights); give the one that made it"
        )
    try:
        records = [json.loads(line) for line in log.read_text().splitlines()]
        every = [r for r in records if r.pop("kind") == "validation"]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(f"{log} is not readable as a training log ({error!r}); leave out --run-folder") from error
    if not every:
        raise DataError(f"{log} holds no validation; train longer, or leave out --run-folder")
    picked = every[:: max(1, len(every) // rows)]
    picked += [] if picked[-1] is every[-1] else [every[-1]]
    names = list(picked[0])
    return [
        "| " + " | ".join(names) + " |",
        "|" + " ---: |" * len(names),
        *("| " + " | ".join(f"{r[name]:.4g}" for name in names) + " |" for r in picked),
    ]
