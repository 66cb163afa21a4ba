"""Training windows of pairs: the same moments and actions in both domains."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from world_model.errors import DataError
from world_model.interface import Clip, Codec
from world_model.training.windows import WindowConfig, Windows


@dataclass(frozen=True)
class PairClip:
    """Training windows of both sides of pairs; all but frames and proprio are the same."""

    real: Clip
    sim: Clip

    def __len__(self) -> int:
        return len(self.real.latents)

    def map(self, function: Callable[[Tensor], Tensor]) -> PairClip:
        """Apply ``function`` to every tensor of both sides."""
        return PairClip(self.real.map(function), self.sim.map(function))


def mixed(clip: PairClip, share: float, generator: torch.Generator) -> Clip:
    """Sequences without frames, each of the real side with probability ``share``, else of the simulated one."""
    real = (torch.rand(len(clip), generator=generator, device=generator.device) < share).to(clip.real.proprio.device)

    def choose(one: Tensor, other: Tensor) -> Tensor:
        return torch.where(real.reshape(-1, *[1] * (one.ndim - 1)), one, other)

    sides = clip.real, clip.sim
    state = None if clip.real.state is None or clip.sim.state is None else choose(clip.real.state, clip.sim.state)
    return replace(clip.real, proprio=choose(*(side.proprio for side in sides)), state=state)


class PairWindows(Windows):
    """`Windows` of the real side that give both.

    Raises:
        DataError: the sides are of other lengths.
    """

    def __init__(self, real: Windows, sim: Windows) -> None:
        if list(real.lengths) != list(sim.lengths) or real.config != sim.config:
            raise DataError("the two sides of the pairs have episodes of other lengths; record the pairs again")
        vars(self).update(vars(real))
        self.sim = sim

    def clip(self, windows: Tensor, codec: Codec | None) -> PairClip:  # type: ignore[override]
        """See `Windows.clip`."""
        return PairClip(super().clip(windows, codec), self.sim.clip(windows, codec))

    def resized(self, config: WindowConfig) -> PairWindows:
        """See `Windows.resized`."""
        return PairWindows(super().resized(config), self.sim.resized(config))
