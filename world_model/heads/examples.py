"""What heads learn from and are held against: frames with the truth about each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
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

    frames: Tensor  # (N, H, W, 3) uint8; (N, 0) where the state is judged
    proprio: Tensor  # (N, P) in [-1, 1]
    labels: Mapping[str, Tensor]  # (N,) float32 each
    state: Tensor | None = None  # (N, S) the model's, for heads that judge it

    def __len__(self) -> int:
        return len(self.proprio)

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
        labels = {name: values[rows] for name, values in self.labels.items()}
        return Examples(self.frames[rows], self.proprio[rows], labels, None if self.state is None else self.state[rows])

    @staticmethod
    def join(parts: Sequence[Examples]) -> Examples:
        """Several sets as one, with the labels that all of them have."""
        names = set.intersection(*(set(part.labels) for part in parts))
        return Examples(
            torch.cat([part.frames for part in parts]),
            torch.cat([part.proprio for part in parts]),
            {name: torch.cat([part.labels[name] for part in parts]) for name in sorted(names)},
            None if parts[0].state is None else torch.cat([part.state for part in parts if part.state is not None]),
        )


def recorded_examples(
    episodes: Iterable[Episode], contract: Contract, read: Callable[[Tensor, Tensor], Tensor] | None = None
) -> Examples:
    """Every frame of recorded episodes.

    With ``read``, which makes states ``(T, S)`` of frames ``(T, H, W, 3)`` and proprio ``(T, P)``, these take the
    frames' place.
    """
    parts = []
    for episode in episodes:
        frames = torch.from_numpy(np.array(episode.frames))
        proprio = torch.from_numpy(contract.normalize_proprio(episode.proprio))
        labels = {name: torch.from_numpy(np.array(v, np.float32)) for name, v in episode.labels.items()}
        if read is None:
            parts.append(Examples(frames, proprio, labels))
        else:
            parts.append(Examples(frames.new_empty(len(frames), 0), proprio, labels, read(frames, proprio)))
    return Examples.join(parts)
