"""What heads learn from and are held against: frames with the truth about each of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from world_model.contract import Contract
from world_model.data.episode import Episode
from world_model.errors import DataError


@dataclass(frozen=True)
class Examples:
    """Frames and what is true of each of them."""

    frames: Tensor  # (N, H, W, 3) uint8
    proprio: Tensor  # (N, P) in [-1, 1]
    labels: Mapping[str, Tensor]  # (N,) float32 each

    def __len__(self) -> int:
        return len(self.frames)

    def targets(self, names: Sequence[str]) -> Tensor:
        """Labels ``(N, names)``.

        Raises:
            DataError: a label was not recorded.
        """
        missing = [name for name in names if name not in self.labels]
        if missing:
            raise DataError(
                f"the heads learn {', '.join(names)} but the data hold no label {missing[0]!r} (they have "
                f"{', '.join(sorted(self.labels)) or 'none'}); record them with this label"
            )
        columns = [self.labels[name].float() for name in names]
        return torch.stack(columns, 1) if columns else torch.empty(len(self), 0)

    def select(self, rows: Tensor) -> Examples:
        return Examples(self.frames[rows], self.proprio[rows], {k: v[rows] for k, v in self.labels.items()})

    @staticmethod
    def join(parts: Sequence[Examples]) -> Examples:
        """Several sets as one, with the labels that all of them have."""
        names = set.intersection(*(set(part.labels) for part in parts))
        return Examples(
            torch.cat([part.frames for part in parts]),
            torch.cat([part.proprio for part in parts]),
            {name: torch.cat([part.labels[name] for part in parts]) for name in sorted(names)},
        )


def recorded_examples(episodes: Iterable[Episode], contract: Contract) -> Examples:
    """Every frame of recorded episodes."""
    return Examples.join(
        [
            Examples(
                torch.from_numpy(np.array(episode.frames)),
                torch.from_numpy(contract.normalize_proprio(episode.proprio)),
                {name: torch.from_numpy(np.array(v, np.float32)) for name, v in episode.labels.items()},
            )
            for episode in episodes
        ]
    )
