"""How far read poses are from the truth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simforcing_env.evaluation.pose_reader import Poses
from world_model.metrics.poses import angle_error, position_error


@dataclass(frozen=True)
class ReadingError:
    """Absolute errors per frame."""

    agent_px: NDArray[np.float64]  # (N,) of 512
    block_px: NDArray[np.float64]  # (N,)
    block_deg: NDArray[np.float64]  # (N,)

    @property
    def count(self) -> int:
        return len(self.agent_px)

    def table(self) -> str:
        """A Markdown table: mean, median, 99 % and largest of each."""
        rows = ["| | mean | median | 99 % | largest |", "| --- | ---: | ---: | ---: | ---: |"]
        for title, values in (
            ("pusher, px of 512", self.agent_px),
            ("block, px of 512", self.block_px),
            ("block, degrees", self.block_deg),
        ):
            numbers = (values.mean(), *np.quantile(values, (0.5, 0.99, 1.0)))
            rows.append(f"| {title} | " + " | ".join(f"{n:.2f}" for n in numbers) + " |")
        return "\n".join(rows)


def reading_error(poses: Poses, truth: NDArray[np.floating]) -> ReadingError:
    """``truth``: ``(N, 5)`` pusher x, y, block x, y in px, block angle in radians."""
    return ReadingError(
        position_error(poses.agent, truth[:, :2]),
        position_error(poses.block, truth[:, 2:4]),
        angle_error(poses.angle, truth[:, 4]),
    )
