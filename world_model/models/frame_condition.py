"""One condition vector for each frame of a transformer: the action that led to it, or a learned embedding."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from world_model.interface import History
from world_model.models.layers import Mlp, fourier


@dataclass(frozen=True)
class FrameConditionConfig:
    """The published embedding (``octaves`` 0, no proprio) or the nano form with features that speed learning up.

    ``relative`` pairs (action dimension, proprio dimension) of one quantity: their difference is a feature.
    """

    action_dim: int
    proprio_dim: int
    actions_per_frame: int = 1
    use_proprio: bool = True
    relative: tuple[tuple[int, int], ...] = ()
    octaves: int = 4


class FrameCondition(nn.Module):
    """Embeds the actions of each frame with an MLP A -> 4D -> D; frames without one get a learned embedding."""

    def __init__(self, config: FrameConditionConfig, dim: int) -> None:
        super().__init__()
        self.config = config
        inputs = config.actions_per_frame * (config.action_dim + len(config.relative))
        inputs += config.proprio_dim if config.use_proprio else 0
        self.embed = Mlp(inputs * (1 + 2 * config.octaves), 4 * dim, dim)
        self.unknown = nn.Parameter(torch.zeros(dim))
        nn.init.normal_(self.unknown, std=0.02)

    def future(self, actions: Tensor, reference: Tensor, valid: Tensor) -> Tensor:
        """``actions`` ``(B, n, a, A)`` that start from proprio ``(B, n, P)``; ``(B, n, D)``.

        ``valid`` ``(B, n)`` or ``(B, 1)``: whether the frame that an action starts from is real.
        """
        pieces = [actions.flatten(2)]
        for action_dim, proprio_dim in self.config.relative:
            pieces.append(8 * (actions[..., action_dim] - reference[:, :, None, proprio_dim]))
        if self.config.use_proprio:
            pieces.append(reference)
        embedded = self.embed(fourier(torch.cat(pieces, dim=-1), self.config.octaves))
        return torch.where(valid[..., None], embedded, self.unknown.to(embedded.dtype))

    def past(self, history: History) -> Tensor:
        """``(B, h, D)`` for clean frames: the first has no action, padded ones neither."""
        first = self.unknown.expand(len(history.latents), 1, -1)
        if history.latents.shape[1] == 1:
            return first
        later = self.future(history.actions, history.proprio[:, :-1], history.valid[:, :-1])
        return torch.cat([first.to(later.dtype), later], dim=1)
