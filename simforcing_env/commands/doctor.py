"""Check this machine, or with an option a data set or a checkpoint, and say what to do about what is wrong.

Data sets and checkpoints are checked for pictures that are flipped, mirrored or transposed; axes and grippers that move
the wrong way; frames and actions that are off by one; actions that are not in the contract's units. The exit
status is 1 when a fault is found.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from simforcing_env.commands.checks import at_least, results_file
from simforcing_env.doctor.finding import Finding, faults, report
from world_model.atomic import replace_text
from world_model.errors import InputError


@dataclass(frozen=True)
class Config:
    """Options of ``simforcing doctor``."""

    dataset: Path | None = None
    """Folder of a recorded data set (LeRobot v3.0) to check instead of the machine."""
    contract: str | None = None
    """Contract of a data set that carries none: a JSON file, or the name of a true simulator such as "pusht"."""
    checkpoint: str | None = None
    """Packaged name, folder or hub id of a learned simulator to check instead of the machine."""
    episodes: int = 40
    """Most episodes of the data set to read, evenly spread over it."""
    json: Path | None = None
    """File to write the findings to."""


def run(config: Config) -> None:
    """Print the findings; ends with status 1 when one of them is a fault."""
    at_least(1, episodes=config.episodes)
    results_file(config.json)
    if config.contract is not None and config.dataset is None:
        raise InputError(f"--contract is {config.contract} but it is for a data set; give --dataset, or leave it out")
    found: dict[str, list[Finding]] = {}
    if config.dataset is not None:
        found[f"data set {config.dataset}"] = _check_dataset(config.dataset, config.episodes, config.contract)
    if config.checkpoint is not None:
        found[f"checkpoint {config.checkpoint}"] = _check_checkpoint(config.checkpoint)
    if not found:
        found = _check_here()
    for title, findings in found.items():
        print(report(title, findings))
    everything = [finding for findings in found.values() for finding in findings]
    bad = faults(everything)
    if config.json is not None:
        record = {title: [asdict(finding) for finding in findings] for title, findings in found.items()}
        replace_text(config.json, json.dumps(record, indent=2) + "\n")
    print(f"{len(bad)} fault{'s' if len(bad) != 1 else ''}{': ' + ', '.join(bad) if bad else ''}")
    if bad:
        raise SystemExit(1)


def _check_here() -> dict[str, list[Finding]]:
    from simforcing_env.doctor.machine import check_machine
    from simforcing_env.doctor.weights import check_weights

    return {"machine": check_machine(), "shipped weights": check_weights()}


def _check_dataset(folder: Path, most: int, contract: str | None) -> list[Finding]:
    from simforcing_env.doctor.dataset import check_dataset, named_contract

    return check_dataset(folder, most, None if contract is None else named_contract(contract))


def _check_checkpoint(name: str) -> list[Finding]:
    from simforcing_env.registration import WEIGHTS
    from world_model.pretrained import register_folder

    register_folder(WEIGHTS)
    from simforcing_env.doctor.checkpoint import check_checkpoint
    from world_model.pretrained import LearnedSimulator

    return check_checkpoint(LearnedSimulator.from_pretrained(name))
