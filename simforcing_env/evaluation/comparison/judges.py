"""Further opinions about an imagined episode: did it act as the training data do, does its end look like success?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simforcing_env.evaluation.comparison.playing import Trace
from world_model.contract import Contract
from world_model.data.lerobot.reader import LeRobotDataset
from world_model.errors import DataError

Array = NDArray[np.float64]
SHARE = 0.99  # of the training actions that the support holds
CELLS = 16  # a side of what the judge by goal images sees of each camera
COMPONENTS = 24  # of that, which it judges by
PER_EPISODE = 4  # pictures of an episode that are no success
EPISODES = 40  # of each task, the first ones


@dataclass(frozen=True)
class Support:
    """Where actions of training data lie: an ellipsoid that holds `SHARE` of them."""

    mean: Array  # (D,) of the actions of a frame, normalised
    whiten: Array  # (D, D)
    edge: float

    @classmethod
    def of(cls, data: LeRobotDataset) -> Support:
        """Of all frames of a data set, failures included, for the world model has seen them."""
        rows = np.concatenate([_rows(data.contract, data.actions(i)) for i in range(len(data))])
        mean = rows.mean(0)
        values, vectors = np.linalg.eigh(np.cov(rows.T, ddof=0).reshape(rows.shape[1], -1))
        whiten = vectors / np.sqrt(values.clip(1e-4))
        return cls(mean, whiten, float(np.quantile(np.linalg.norm((rows - mean) @ whiten, axis=1), SHARE)))

    def outside(self, contract: Contract, actions: NDArray[np.float32]) -> float:
        """Share of the frames whose actions ``(T, a, A)`` are outside."""
        away = np.linalg.norm((_rows(contract, actions) - self.mean) @ self.whiten, axis=1)
        return float((away > self.edge).mean())


def _rows(contract: Contract, actions: NDArray[np.float32]) -> Array:
    return contract.normalize_actions(actions).reshape(len(actions), -1).astype(np.float64)


@dataclass(frozen=True)
class GoalImages:
    """Tells success from a picture alone, task by task, by true pictures of success and of all else.

    Small pictures of all cameras are reduced to their leading components; a linear discriminant of these says which
    side a picture is on. It knows neither the success head nor the state that this head judges by.
    """

    mean: Array
    basis: Array  # (pixels, K)
    weights: dict[int, tuple[Array, float]]  # task to (K,) and offset

    @classmethod
    def of(cls, data: LeRobotDataset, seed: int = 0) -> GoalImages:
        """From a data set with labels of success.

        Raises:
            DataError: no task has episodes of both kinds.
        """
        generator = np.random.default_rng(seed)
        pictures: list[Array] = []
        labels: list[tuple[int, bool]] = []
        taken: Counter[int] = Counter()
        for number in range(len(data)):
            columns = data.columns(number)
            task = int(columns["task_index"][0])
            taken[task] += 1
            if taken[task] > EPISODES:
                continue
            success = columns["label.success"] > 0.5
            kept = [*np.flatnonzero(success)[:1], *_some(np.flatnonzero(~success), generator)]
            pictures.append(small(data.frames(number)[kept]))
            labels += [(task, bool(success[row])) for row in kept]
        rows = np.concatenate(pictures)
        mean = rows.mean(0)
        _, _, directions = np.linalg.svd(rows - mean, full_matrices=False)
        basis = directions[:COMPONENTS].T
        seen = (rows - mean) @ basis
        tasks, good = np.array([t for t, _ in labels]), np.array([s for _, s in labels])
        weights = {
            int(t): _discriminant(seen[tasks == t], good[tasks == t])
            for t in np.unique(tasks)
            if 1 < good[tasks == t].sum() < (tasks == t).sum() - 1
        }
        if not weights:
            raise DataError(f"{data.path} has no task with pictures of success and of failure; record more episodes")
        return cls(mean, basis, weights)

    def success(self, task: int, frame: NDArray[np.uint8]) -> bool | None:
        """Whether a canvas ``(H, W, 3)`` shows success; None for a task without examples."""
        if task not in self.weights:
            return None
        weight, offset = self.weights[task]
        return bool(((small(frame[None])[0] - self.mean) @ self.basis) @ weight > offset)


def small(frames: NDArray[np.uint8]) -> Array:
    """Canvases ``(N, H, W, 3)`` as means over squares, `CELLS` of them to the height, flattened, in [0, 1]."""
    count, height, width, _ = frames.shape
    step = max(height // CELLS, 1)
    rows, columns = height // step, width // step
    cut = frames[:, : rows * step, : columns * step].reshape(count, rows, step, columns, step, 3)
    return cut.mean((2, 4)).reshape(count, -1) / 255


def _some(rows: NDArray[np.intp], generator: np.random.Generator) -> Iterator[int]:
    """The last and some others, for what is nearly success matters most."""
    if len(rows):
        yield int(rows[-1])
        yield from generator.choice(rows, min(PER_EPISODE - 1, len(rows)), replace=False).tolist()


def _discriminant(rows: Array, good: NDArray[np.bool_]) -> tuple[Array, float]:
    """Fisher's, with half of the pooled covariance shrunk to its diagonal, and the middle between the two means."""
    a, b = rows[good], rows[~good]
    pooled = np.cov(np.concatenate([a - a.mean(0), b - b.mean(0)]).T, ddof=0)
    spread = 0.5 * pooled + 0.5 * np.diag(np.diag(pooled)) + 1e-6 * np.eye(len(pooled))
    weight = np.linalg.solve(spread, a.mean(0) - b.mean(0))
    return weight, float(weight @ (a.mean(0) + b.mean(0)) / 2)


@dataclass(frozen=True)
class Judges:
    """What is asked about learned episodes beside the success head."""

    contract: Contract
    support: Support | None = None
    goals: GoalImages | None = None

    def opinions(self, task: int, trace: Trace) -> dict[str, Any]:
        """Fields of the episode's outcome."""
        found: dict[str, Any] = {}
        if self.support is not None and trace.actions:
            found["outside"] = round(self.support.outside(self.contract, np.stack(trace.actions)), 6)
        if self.goals is not None:
            found["goal"] = self.goals.success(task, trace.images[-1])
        return found
