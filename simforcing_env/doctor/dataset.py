"""Checks of a data set on disk."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from simforcing_env.doctor.episodes import check_episodes
from simforcing_env.doctor.finding import Finding
from teachers.registry import TEACHERS, make_teacher
from world_model.contract import Contract
from world_model.data.lerobot.reader import read_dataset
from world_model.errors import InputError


def check_dataset(folder: Path, most: int = 40, contract: Contract | None = None) -> list[Finding]:
    """Check at most ``most`` episodes, evenly spread; ``contract`` is for a data set that carries none.

    Raises:
        InputError: no episode to check.
        DataError: the folder is no data set, or an episode is damaged.
        ContractError: the data set's features or its own contract say otherwise than ``contract``.
    """
    dataset = read_dataset(folder, contract)
    if not len(dataset) or most < 1:
        raise InputError(f"{folder} holds {len(dataset)} episodes and {most} are asked for; give at least one")
    rows = np.unique(np.linspace(0, len(dataset) - 1, min(most, len(dataset))).astype(int))
    episodes = [dataset[int(row)] for row in rows]
    used = dataset.contract
    text = (
        f"{used.hash} ({used.name}); {len(episodes)} of {len(dataset)} episodes read, {sum(map(len, episodes))} frames"
    )
    return [Finding("contract", "ok", text), *check_episodes(episodes, used)]


def named_contract(name: str) -> Contract:
    """The contract in a JSON file, or that of a true simulator.

    Raises:
        InputError: neither a file nor a simulator's name.
        ContractError: the file holds no contract.
    """
    if Path(name).is_file():
        return Contract.from_json(Path(name).read_text(encoding="utf-8"))
    if name not in TEACHERS:
        raise InputError(
            f"there is no file {name!r} and no true simulator of that name; known are {', '.join(TEACHERS)}"
        )
    return make_teacher(name).contract
