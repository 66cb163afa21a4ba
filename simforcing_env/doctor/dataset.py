"""Checks of a data set on disk."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from simforcing_env.doctor.episodes import check_episodes
from simforcing_env.doctor.finding import Finding
from world_model.data.lerobot.reader import read_dataset
from world_model.errors import InputError


def check_dataset(folder: Path, most: int = 40) -> list[Finding]:
    """Check at most ``most`` episodes, evenly spread.

    Raises:
        InputError: no episode to check.
        DataError: the folder is no data set, or an episode is damaged.
    """
    dataset = read_dataset(folder)
    if not len(dataset) or most < 1:
        raise InputError(f"{folder} holds {len(dataset)} episodes and {most} are asked for; give at least one")
    rows = np.unique(np.linspace(0, len(dataset) - 1, min(most, len(dataset))).astype(int))
    episodes = [dataset[int(row)] for row in rows]
    frames = sum(map(len, episodes))
    contract = dataset.contract
    text = f"{contract.hash} ({contract.name}); {len(episodes)} of {len(dataset)} episodes read, {frames} frames"
    return [Finding("contract", "ok", text), *check_episodes(episodes, contract)]
