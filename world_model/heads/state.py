"""Heads that judge where the model says that things are, not what its pictures look like."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from world_model.errors import InputError
from world_model.heads.base import LabelHeads
from world_model.models.layers import fourier

_NEAR = 10.0  # unit of the raw numbers: a tenth of a normalised one, some centimetres on a table


@dataclass(frozen=True)
class StateHeadConfig:
    """Sizes, and labels as in `OutcomeConfig`."""

    state_dim: int
    proprio_dim: int
    events: tuple[str, ...]
    reward: str
    success: str
    tasks: int = 0
    shares: tuple[str, ...] = ()
    reward_full: float = 1.0
    octaves: int = 2
    hidden: int = 128
    layers: int = 3


class StateHeads(LabelHeads):
    """Gated residual layers over the state and proprio.

    The events of a manipulation task are relations between places; a model that carries key points of the objects
    knows them better than its pictures show, and reads them from the frames that an episode begins with.
    """

    reads_state = True

    def __init__(self, config: StateHeadConfig) -> None:
        super().__init__(config)
        self.config = config
        numbers = config.state_dim + config.proprio_dim
        seen = fourier(torch.zeros(1, numbers), config.octaves).shape[-1] + numbers
        self.first = nn.Linear(seen, 2 * config.hidden)
        self.layers = nn.ModuleList(nn.Linear(config.hidden, 2 * config.hidden) for _ in range(config.layers - 1))
        self.readout = nn.Linear(config.hidden, len(self.labels))

    def forward(self, latents: Tensor, proprio: Tensor, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """``state`` ``(N, S)`` about [-1, 1] and ``proprio`` ``(N, P)``; latents are not looked at.

        Raises:
            InputError: no state, or one of another shape.
        """
        wanted = (len(proprio), self.config.state_dim)
        if state is None or state.shape != wanted:
            raise InputError(
                f"heads got a state of shape {None if state is None else tuple(state.shape)} but judge {wanted}; "
                "use the model that they were trained with"
            )
        numbers = torch.cat([state, proprio], dim=-1).float()
        x = F.glu(self.first(torch.cat([_NEAR * numbers, fourier(numbers, self.config.octaves)], dim=-1)))
        for layer in self.layers:
            x = x + F.glu(layer(F.rms_norm(x, x.shape[-1:])))
        shares, logits = self.readout(x).split([len(self.config.shares), len(self.config.events)], 1)
        return shares, logits
