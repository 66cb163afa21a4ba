"""Where an evaluation's true episodes come from: a recorded data set, or the true simulator on the spot."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from world_model.contract import Contract
from world_model.data.episode import Episode
from world_model.errors import InputError

if TYPE_CHECKING:
    from world_model.data.lerobot.reader import LeRobotDataset

Split = Literal["validation", "test"]
RECORDED_SEED = 1  # of episodes made on the spot; data sets are collected with seed 0
NEAR_BEHAVIOURS = ("careful", "towards_goal")  # of the Push-T recorder


def true_episodes(
    dataset: Path | None, split: Split, count: int, contract: Contract, first: int = 0, **options: Any
) -> list[Episode]:
    """``count`` episodes of a data set (all for 0), or of the contract's teacher where none is given.

    Recorded ones are numbered from ``first`` on; ``options`` go to the teacher's recorder.

    Raises:
        ContractError: the episodes follow another contract.
        InputError: neither a data set nor a teacher for this contract.
    """
    if dataset is not None:
        from world_model.data.lerobot.reader import read_dataset

        return first_episodes(read_dataset(dataset, contract), count)
    if count < 1:
        raise InputError(f"{count} episodes cannot be recorded on the spot; ask for at least 1, or give --dataset")
    from simforcing_env.evaluation.progress import counting
    from teachers.recording import RECORDERS, recorder_for

    if contract.name not in RECORDERS:
        raise InputError(
            f"no teacher here records episodes under the contract {contract.name!r}; give --dataset, a LeRobot v3.0 "
            "folder of held-out episodes"
        )
    recorder = recorder_for(contract, split, RECORDED_SEED, options)
    episodes = []
    with counting(f"recording {split} episodes", count) as step:
        for index in range(count):
            episodes.append(recorder.record(first + index))
            step(index + 1)
    return episodes


def first_episodes(data: LeRobotDataset, count: int) -> list[Episode]:
    """The first ``count`` episodes of an opened data set, all for 0 or where it holds fewer."""
    return [data[i] for i in range(min(count or len(data), len(data)))]


def mixed_episodes(
    dataset: Path | None, split: Split, count: int, near_share: float | None, usual_share: float, contract: Contract
) -> list[Episode]:
    """As `true_episodes`; of recorded ones, ``near_share`` (by default ``usual_share``) push the block about its goal.

    Raises:
        InputError: a share is given for a data set, which has its own.
    """
    if dataset is not None:
        if near_share is not None:
            raise InputError("--near-share is for episodes that are recorded on the spot; leave out it or --dataset")
        return true_episodes(dataset, split, count, contract)
    near = round((usual_share if near_share is None else near_share) * count)
    found = true_episodes(None, split, count - near, contract) if count > near or not near else []
    return found + (
        true_episodes(None, split, near, contract, count - near, behaviours=NEAR_BEHAVIOURS) if near else []
    )
